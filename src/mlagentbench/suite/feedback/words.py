"""The words that made-up essays are written with, set apart by blanks."""

NOUNS = """
student teacher school lesson exam book page library computer phone screen game team coach player match sport club
friend parent brother sister family neighbour child baby adult doctor nurse farmer driver worker manager leader
artist singer writer actor scientist engineer pilot soldier lawyer officer visitor guest stranger group crowd
house room kitchen garden street road bridge village town city country island river lake mountain forest beach
desert park museum station airport market shop restaurant office factory hospital church castle tower wall
door window table chair bed lamp clock key box bag bottle cup plate knife machine engine car truck bus train
bike boat plane ticket map camera picture painting song story poem letter message email website program robot
idea plan project problem question answer reason result rule law right choice chance risk mistake habit skill
goal dream hope fear doubt memory surprise secret promise gift party holiday trip journey adventure weekend
morning evening summer winter season storm cloud animal dog cat horse bird insect flower tree seed fruit meal
recipe breakfast dinner sandwich apple egg drink medicine illness exercise diet price job salary company product
customer service advert budget debt tax bank coin vote election opinion debate argument report article newspaper
channel film character hero scene audience ending culture language word sentence accent tradition festival
costume dance concert band instrument guitar drum energy battery planet star rocket experiment test tool method
"""

VERBS = """
help need want like enjoy hate visit watch follow teach learn find make take give keep lose build break change
start stop support protect explain describe discuss compare improve create design discover explore invent
choose use share show tell ask answer call meet join leave avoid finish plan study read write paint sing play
win train carry push pull open close clean cook buy sell save waste earn spend count measure check test repair
remember forget notice prefer admire respect trust doubt fear surprise bother challenge encourage prepare
produce reduce increase control manage lead organise celebrate remind
"""

GOOD = """
good great happy helpful useful important interesting beautiful clever kind friendly healthy strong safe clean
easy fun exciting popular successful brave honest patient careful creative generous fair free comfortable
fresh bright calm modern famous lucky
"""

BAD = """
bad sad hard difficult boring dangerous ugly unfair lazy rude weak sick dirty noisy expensive slow dull harmful
useless lonely angry nervous careless selfish cruel strict tired crowded broken poor wrong stressful unhealthy
confusing annoying
"""

PLAIN = """
big small new old young long short different same whole main local public private early late daily quiet open
common special simple normal large tiny
"""

PREPOSITIONS = ["on", "to", "with", "in", "about", "from", "for", "of", "at"]

VERBS_WITH = {
    "on": "depend rely focus concentrate insist work comment agree",
    "to": "listen belong lead react respond contribute relate refer object adapt point reply talk",
    "with": "deal cope compete cooperate struggle argue disagree sympathise experiment",
    "in": "believe participate result succeed invest engage specialise",
    "about": "care worry think complain dream wonder",
    "from": "suffer benefit differ recover escape emerge",
    "for": "wait pay apply hope search look vote prepare",
    "of": "consist approve",
    "at": "laugh stare aim",
}

ADJECTIVES_WITH = {
    "of": "afraid proud aware full tired capable",
    "in": "interested involved skilled",
    "for": "responsible famous ready suitable",
    "to": "similar close important open",
    "with": "familiar happy popular patient",
    "from": "different absent free",
    "about": "excited worried curious serious",
    "at": "good bad amazed",
}

PHRASES = {
    "make": "a decision, a mistake, a promise, progress, an effort, friends, money, a plan, a difference, sense",
    "do": "homework, research, a favour, exercise, business, the shopping, damage, harm",
    "take": "a break, a risk, part, notes, a chance, responsibility, time, action, care",
    "have": "fun, a conversation, an effect, a good time, a problem, an idea, a rest",
    "pay": "attention, a visit, a compliment",
    "give": "advice, permission, a speech, an example, an opinion",
    "keep": "a secret, a diary, in touch, calm",
}

JOINING = {
    "same": "also; in addition; moreover; furthermore; besides; for example; for instance; in fact; similarly",
    "turn": "however; on the other hand; nevertheless; in contrast; even so; still; instead",
    "cause": "therefore; as a result; for this reason; consequently; because of this; thus",
    "order": "first; second; then; next; finally; after that; in the end; in conclusion",
}

SIMPLE_JOINING = ["and", "but", "so", "and then", "also"]

OPENINGS = [
    "I think",
    "in my opinion",
    "I believe",
    "some people say",
    "many people think",
    "we all know that",
]

CONFUSED = {
    "their": "there", "there": "their", "to": "too", "your": "you're", "because": "becuase", "than": "then",
    "which": "wich", "people": "peaple", "different": "diffrent", "believe": "beleive", "really": "realy",
    "friend": "freind", "important": "importent", "therefore": "therfore",
    "something": "somthing", "would": "woud", "should": "shoud", "interesting": "intresting",
}  # fmt: skip

PREFIXES = """
ab ad ap at com con de dis ef en ex im in inter ob per pre pro re sub sup sur trans
"""
ROOTS = """
cept dict duct fect fer flect form fract fuse grad gress ject lect ment merse mit mot mount neg numer opt ord
part pass pend plic port pos press prob quir rupt scrib sect sens sert sist solv spec spect spir stant strict
struct sult sum tain tect tend tens test text tort tract trib turb vad vent vers vict vis voc volv
"""
NOUN_ENDINGS = ["ion", "ity", "ance", "ism", "ure", "ment", "or", "acy"]
VERB_ENDINGS = ["ate", "ify", "ise"]
ADJECTIVE_ENDINGS = ["ive", "al", "ous", "ic", "able", "ual"]
