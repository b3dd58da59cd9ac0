"""The words that made-up reviews are written with, set apart by blanks or, where they hold blanks, by semicolons."""

GOOD = """
good great excellent wonderful brilliant superb fantastic amazing beautiful charming clever funny gripping moving
powerful touching delightful enjoyable entertaining fascinating memorable fresh original stunning splendid witty
convincing engaging impressive perfect remarkable satisfying thrilling warm elegant inspired masterful refreshing
hilarious lovely
"""

BAD = """
bad awful terrible horrible dreadful boring dull tedious weak poor stupid silly bland flat predictable ridiculous
annoying lazy lame clumsy shallow pointless painful ugly forgettable disappointing pathetic messy stale tiresome
unconvincing wooden cheap crude confusing dreary hollow irritating laughable lifeless
"""

ASPECTS = """
acting script plot pacing soundtrack camerawork dialogue ending direction cast cinematography story editing music
lighting costume screenplay opening finale humour casting premise atmosphere performance photography action romance
villain hero mystery suspense comedy drama score animation choreography narration chemistry twist climax
"""

PEOPLE = """
detective teacher soldier widow orphan thief pilot sailor farmer doctor nurse singer dancer painter lawyer journalist
king queen prince princess captain boxer spy priest student waitress gangster sheriff scientist inventor ghost robot
stranger traveller prisoner hunter gambler magician twin neighbour brother sister father mother uncle daughter son
"""

DEEDS = """
meets follows hunts rescues betrays loses finds marries escapes kidnaps teaches trains fights befriends haunts saves
forgives abandons discovers chases hides questions robs leaves deceives protects
"""

PLACES = """
village city castle island desert forest mountain hospital school prison ship train hotel farm theatre palace
harbour jungle suburb monastery factory museum station valley border lighthouse
"""

STRONG = "utterly absolutely extremely totally incredibly truly remarkably thoroughly completely really"
FAINT = "somewhat slightly fairly mildly vaguely occasionally rather"

ENDINGS = "ive al ous ic able ant ent esque ual ary"
PREFIXES = "ab ad ap at com con de dis ef en ex im in inter ob per pre pro re sub sup sur trans"
ROOTS = """
cept dict duct fect fer flect form fract fuse grad gress ject lect merse mit mot mount neg numer opt ord part pass pend
plic port pos press prob quir rupt scrib sect sens sert sist solv spec spir stant strict struct sult sum tain tect
tend tort tract trib turb vad vent vers vict vis voc volv
"""

# {a}: the aspect; {w}: an adjective that means what it says.
SAYING = """
the {a} is {w};the {a} was {w};I found the {a} {w};the {a} feels {w};the {a} is, to my eye, {w};it has {w} {a};
what a {w} {a};the {a} remains {w} from beginning to end;we get {w} {a};the {a} struck me as {w};
the {a} is not only {w} but also {v};there is no doubt that the {a} is {w};{n} brings {w} {a};the {w} {a} stays with you
"""

# {w}: an adjective whose meaning is turned round.
DENYING = """
the {a} is not {w};the {a} was never {w};I did not find the {a} {w};the {a} never feels {w};the {a} is hardly {w};
the {a} is not what I would call {w};it has no {w} {a};nothing about the {a} is {w};the {a} is far from {w};
{n} fails to deliver {w} {a};the {a} is not in any way {w};you will not get {w} {a};nobody could call the {a} {w};
the {a} lacks anything {w}
"""

# {x}: a clause that is granted; {y}: the clause that counts.
CONTRASTS = """
although {x}, {y};{y}, even though {x};{x}, but {y};{x}. However, {y};while {x}, {y};{y}, although {x};
it is true that {x}, but {y};{x}. Still, {y};{x}, yet {y}
"""

# What was hoped for, said by others, or might have been: {w} is not what the writer thinks.
FOREIGN = """
I expected {w} {a};the trailer promised {w} {a};my friends called the {a} {w};critics keep calling the {a} {w};
it could have been {w};the poster made me hope for {w} {a};everyone told me that the {a} would be {w};
I was ready for {w} {a};with another director the {a} would have been {w};my brother said the {a} was {w}
"""

PLOTS = """
the story follows a {w} {p} who {d} a {q} in a {l};a {p} {d} a {w} {q};in a {w} {l}, a {p} {d} a {q};
we see how a {p} {d} the {w} {q};set in a {l}, it tells of a {p} who {d} a {q};the {p} {d} a {q} on the way to the {l}
"""

VERDICTS = """
overall, {y};all in all, {y};in the end, {y};to sum up, {y};my verdict: {y};in short, {y}
"""

FILLERS = """
I saw it on a Sunday evening;it runs for about two hours;I watched it with my sister;the cinema was half empty;
it was made in the seventies;I had read the book before;this is the third film of the series;I rented it last week;
it was on late at night;the version I saw had subtitles;I have seen most films of {n};{n} wrote it too;
it was shot in a {l};my ticket was a gift;they showed it again on television
"""

NAMES = (
    "ba be bo ca da de el fa ga ha jo ka la le li lo ma mi mo na no or pa ra ri ro sa se ta te to va vi wa zo"
)
