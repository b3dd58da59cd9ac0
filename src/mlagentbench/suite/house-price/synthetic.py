"""Made-up house sales: plausible columns, and prices that follow from them by rules with some noise.

What a part of the town is worth, and when it was built, is drawn from the seed and not from its name, so that
nothing known about the real town helps.
"""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np

GRADES = ["Po", "Fa", "TA", "Gd", "Ex"]
NEIGHBORHOODS = [
    "Blmngtn", "Blueste", "BrDale", "BrkSide", "ClearCr", "CollgCr", "Crawfor", "Edwards", "Gilbert",
    "IDOTRR", "MeadowV", "Mitchel", "NAmes", "NPkVill", "NWAmes", "NoRidge", "NridgHt", "OldTown", "SWISU",
    "Sawyer", "SawyerW", "Somerst", "StoneBr", "Timber", "Veenker",
]  # fmt: skip
STYLES = {
    "1Story": 50, "2Story": 30, "1.5Fin": 10, "SLvl": 4.5, "SFoyer": 2.6, "1.5Unf": 1, "2.5Unf": 0.8,
    "2.5Fin": 0.6,
}  # fmt: skip
SURROUNDINGS = {
    "Norm": 85.5, "Feedr": 5.6, "Artery": 3.3, "RRAn": 1.8, "PosN": 1.6, "RRAe": 0.8, "PosA": 0.7,
    "RRNn": 0.5, "RRNe": 0.2,
}  # fmt: skip
NEW_COVERS = {
    "VinylSd": 60, "HdBoard": 12, "MetalSd": 5, "Wd Sdng": 4, "Plywood": 3, "CemntBd": 10, "BrkFace": 3,
    "WdShing": 1, "Stucco": 2,
}  # fmt: skip
OLD_COVERS = {
    "VinylSd": 14, "HdBoard": 19, "MetalSd": 24, "Wd Sdng": 22, "Plywood": 9, "CemntBd": 1, "BrkFace": 5,
    "WdShing": 2.5, "Stucco": 2.5, "AsbShng": 2,
}  # fmt: skip
SECOND_NAMES = {"CemntBd": "CmentBd", "WdShing": "Wd Shng"}
MONTHS = [0.04, 0.036, 0.073, 0.097, 0.14, 0.173, 0.16, 0.084, 0.043, 0.061, 0.054, 0.039]
# What the market did, by quarter from the beginning of 2006 to the end of 2010.
MARKET = [
    [0.0, 0.01, 0.02, 0.03], [0.05, 0.06, 0.06, 0.04], [0.02, 0.0, -0.02, -0.05],
    [-0.08, -0.09, -0.08, -0.07], [-0.05, -0.04, -0.05, -0.05],
]  # fmt: skip


def houses(entropy: int, n: int) -> dict[str, np.ndarray]:
    """The columns of `n` sales, with "NA" for what is missing."""
    rng = np.random.default_rng(entropy)

    def pick(weights):
        shares = np.array(list(weights.values()), dtype=float)
        return np.array(list(weights), dtype=object)[rng.choice(len(shares), n, p=shares / shares.sum())]

    def chance(probability):
        return rng.random(n) < probability

    def graded(level):
        """Grades of a latent level whose usual values lie from -2 to 2."""
        return np.clip(np.round(2.4 + 0.65 * level + rng.normal(0, 0.35, n)), 0, 4).astype(int)

    def rounded(values, low, high, step=1):
        return np.clip(np.round(values / step) * step, low, high).astype(int)

    def lognormal(mean, spread, low, high):
        return rounded(np.exp(mean + rng.normal(0, spread, n)), low, high)

    def known(values, exists):
        return np.where(exists, np.asarray(values, dtype=object), "NA")

    def grades(levels, exists=True):
        return known(np.array(GRADES, dtype=object)[levels], exists)

    # Where: parts of the town differ in wealth, age and density, and in something that no other column tells.
    parts = len(NEIGHBORHOODS)
    wealth = rng.permutation(np.linspace(-1.5, 1.5, parts))
    newness = np.argsort(np.argsort(wealth + rng.normal(0, 1.2, parts))) / (parts - 1)
    era = 1905 + 100 * np.sqrt(newness)
    dense = rng.permutation(np.linspace(-1, 1, parts)) - (era - 1960) / 60
    charm = rng.permutation(np.linspace(-0.12, 0.12, parts))
    sizes = rng.permutation(np.geomspace(1, 12, parts))
    part = rng.choice(parts, n, p=sizes / sizes.sum())
    rich, crowded = wealth[part], dense[part]

    # When.
    month = rng.choice(12, n, p=np.array(MONTHS) / sum(MONTHS)) + 1
    year = rng.choice([2006, 2007, 2008, 2009, 2010], n, p=[0.215, 0.225, 0.21, 0.23, 0.12])
    month = np.where((year == 2010) & (month > 7), month - 5, month)
    built = np.minimum(np.clip(np.round(era[part] + rng.standard_t(4, n) * 8), 1872, 2010), year).astype(int)
    age = year - built
    remodelled = chance(np.where(age > 8, 0.5, 0.08))
    renewed = np.where(remodelled, built + np.round((year - built) * rng.beta(2.5, 1.2, n)), built)
    renewed = np.maximum(renewed, 1950).astype(int)

    # What: a latent standard of the house drives most grades.
    standard = 0.65 * rich + 0.012 * (built - 1965) + rng.normal(0, 0.65, n)
    quality = rounded(6.0 + 1.25 * standard, 1, 10)
    condition = np.where(age < 8, 5, rounded(5.6 + 1.1 * rng.normal(0, 1, n) + 0.5 * remodelled, 1, 9))
    kind = pick({"1Fam": 84, "TwnhsE": 7.5, "Duplex": 3.5, "Twnhs": 3, "2fmCon": 2})
    kind = np.where(chance(0.12 * (crowded > 0.6)), "TwnhsE", kind)
    style = pick(STYLES)
    style = np.where((style == "1.5Fin") & (built > 1960), "2Story", style)
    two = np.isin(style, ["2Story", "2.5Unf", "2.5Fin"])
    living = lognormal(7.18 + 0.12 * rich + 0.08 * standard + 0.2 * two, 0.23, 334, 5600)
    upper = np.where(two, 0.47, np.where(style == "1.5Fin", 0.36, 0.0)) * rng.normal(1, 0.07, n)
    second = rounded(living * np.clip(upper, 0, 0.6), 0, 2100)
    poor_area = np.where(chance(0.018), rounded(rng.uniform(50, 550, n), 50, 550), 0)
    poor_area = np.minimum(poor_area, living // 4)
    first = living - second - poor_area
    subclass = np.select(
        [
            kind == "Duplex", kind == "2fmCon", (kind == "TwnhsE") | (kind == "Twnhs"),
            style == "SLvl", style == "SFoyer", style == "1.5Fin", style == "1.5Unf",
            two & (style != "2Story"), two & (built >= 1946), two, built >= 1946,
        ],
        [90, 190, np.where(two, 160, 120), 80, 85, 50, 45, 75, 60, 70, 20],
        30,
    )  # fmt: skip

    townhouse = np.isin(kind, ["TwnhsE", "Twnhs"])
    lot = np.exp(9.1 + 0.08 * rich - 0.16 * crowded + rng.standard_t(4, n) * 0.26 - 0.9 * townhouse)
    lot = rounded(lot, 1300, 215000)
    place = pick({"Inside": 72, "Corner": 18, "CulDSac": 6.5, "FR2": 3.2, "FR3": 0.3})
    irregular = chance(np.where(place == "CulDSac", 0.85, 0.3))
    shape = np.where(irregular, pick({"IR1": 92, "IR2": 6, "IR3": 2}), "Reg")
    frontage = rounded(
        np.sqrt(lot) * np.where(place == "CulDSac", 0.5, 0.71) * rng.normal(1, 0.15, n), 21, 313
    )
    frontage_unknown = chance(np.where(irregular, 0.33, 0.09) + 0.12 * (place == "CulDSac"))
    contour = pick({"Lvl": 90, "Bnk": 4.2, "HLS": 3.4, "Low": 2.4})
    slope = np.where(contour == "Lvl", "Gtl", pick({"Gtl": 55, "Mod": 38, "Sev": 7}))
    near = pick(SURROUNDINGS)
    also_near = np.where(near == "Norm", "Norm", pick({"Norm": 94, "Feedr": 3, "Artery": 1.5, "PosN": 1.5}))
    zoning = np.where(
        crowded > 0.75, pick({"RM": 78, "RH": 5, "C (all)": 3, "RL": 14}), pick({"RL": 92, "FV": 5, "RM": 3})
    )
    alley_known = chance(np.where(crowded > 0.75, 0.19, 0.02))

    outside = graded(standard)
    kitchen = graded(0.8 * standard + 0.35 * remodelled)
    heat = graded(0.5 * standard + 1.1 + 0.3 * remodelled - 0.008 * age)
    cover = np.where(built > 1985, pick(NEW_COVERS), pick(OLD_COVERS))
    cover2 = np.where(chance(0.86), cover, pick(OLD_COVERS))
    cover2 = np.array([SECOND_NAMES.get(name, name) for name in cover2], dtype=object)
    veneered = chance(np.clip(0.38 + 0.14 * standard, 0.05, 0.9))
    veneer = np.where(veneered, pick({"BrkFace": 76, "Stone": 22, "BrkCmn": 2}), "None")
    veneer_area = np.where(veneered, lognormal(5.2 + 0.2 * standard, 0.7, 11, 1600), 0)
    veneer_unknown = chance(0.0055)

    # Below ground.
    slab = chance(np.where(built < 1960, 0.045, 0.017))
    ground = np.where(slab, 0, rounded(first * rng.uniform(0.8, 1.02, n), 105, 3200))
    foundation = np.select(
        [slab, built > 1985, built > 1942],
        ["Slab", pick({"PConc": 93, "CBlock": 7}), pick({"CBlock": 85, "PConc": 15})],
        pick({"BrkTil": 60, "CBlock": 20, "PConc": 18, "Stone": 2}),
    )
    height = graded(0.55 * standard + 0.012 * (built - 1970))
    light = np.where(
        contour == "Lvl",
        pick({"No": 70, "Av": 14, "Mn": 8, "Gd": 8}),
        pick({"Gd": 55, "Av": 25, "No": 20}),
    )
    finish = pick({"Unf": 30, "GLQ": 29, "ALQ": 15, "BLQ": 10, "Rec": 9, "LwQ": 5})
    finish = np.where((finish == "GLQ") & (standard < -0.5), "Rec", finish)
    finished = np.where(finish == "Unf", 0, rounded(ground * rng.beta(3, 2, n), 0, 2200))
    again = (finished > 0) & chance(0.16)
    finished2 = np.where(again, rounded((ground - finished) * rng.uniform(0.1, 0.9, n), 0, 1200), 0)
    finish2 = np.where(finished2 > 0, pick({"Rec": 34, "LwQ": 29, "BLQ": 21, "ALQ": 12, "GLQ": 4}), "Unf")
    unfinished = ground - finished - finished2

    # Rooms.
    baths = rounded(0.55 + living / 1400 + 0.006 * (built - 1965) + rng.normal(0, 0.3, n), 1, 3)
    half_baths = np.where(chance(np.where(two, 0.62, 0.2)), 1, 0)
    ground_baths = np.where(chance(np.where(finished > 300, 0.68, 0.08)), 1, 0)
    ground_half_baths = np.where(chance(0.055), 1, 0)
    bedrooms = rounded(1.2 + living / 900 + rng.normal(0, 0.6, n), 0, 8)
    kitchens = np.where(np.isin(kind, ["Duplex", "2fmCon"]) & chance(0.8), 2, 1)
    rooms = np.maximum(rounded(2.3 + living / 400 + rng.normal(0, 0.8, n), 2, 14), bedrooms + 1)
    fireplaces = rounded(-0.25 + living / 2100 + 0.22 * standard + rng.normal(0, 0.45, n), 0, 3)
    hearth = graded(0.7 * standard + 0.3)
    functional = pick({"Typ": 93.2, "Min2": 2.3, "Min1": 2.1, "Mod": 1, "Maj1": 1, "Maj2": 0.4})
    air = chance(np.where(age - 10 * remodelled > 45, 0.8, 0.985))
    heating = np.where(age > 50, pick({"GasA": 94, "GasW": 4, "Grav": 1.5, "Wall": 0.5}), "GasA")
    wiring = np.where(age > 45, pick({"SBrkr": 79, "FuseA": 15.5, "FuseF": 5, "FuseP": 0.5}), "SBrkr")

    # Garage and garden.
    no_garage = chance(np.where(age > 50, 0.12, 0.025))
    cars = np.where(no_garage, 0, rounded(1.75 + 0.38 * standard + rng.normal(0, 0.45, n), 1, 4))
    garage_area = np.where(no_garage, 0, rounded(cars * 245 + 20 + rng.normal(0, 55, n), 160, 1420))
    garage = np.where(
        built > 1955,
        pick({"Attchd": 76, "BuiltIn": 9, "Detchd": 13, "Basment": 2}),
        pick({"Detchd": 71, "Attchd": 27, "CarPort": 2}),
    )
    garage_built = np.where(chance(0.78), built, np.minimum(built + rng.integers(0, 40, n), year))
    garage_finish = np.array(["Unf", "RFn", "Fin"], dtype=object)[
        rounded(0.9 + 0.6 * standard + rng.normal(0, 0.5, n), 0, 2)
    ]
    deck = np.where(chance(0.48), lognormal(5.0, 0.5, 12, 860), 0)
    porch = np.where(chance(0.55), lognormal(3.9, 0.6, 4, 550), 0)
    enclosed = np.where(chance(np.where(age > 50, 0.36, 0.03)), lognormal(4.8, 0.5, 19, 550), 0)
    seasonal = np.where(chance(0.016), rounded(rng.uniform(23, 508, n), 23, 508), 0)
    screened = np.where(chance(0.08), lognormal(5.1, 0.4, 40, 480), 0)
    pool = np.where(chance(0.005), rounded(rng.uniform(480, 740, n), 480, 740), 0)
    fenced = chance(np.where(age > 15, 0.25, 0.07))
    fence = pick({"MnPrv": 56, "GdPrv": 21, "GdWo": 19, "MnWw": 4})
    shed = chance(0.037)
    extra = pick({"Shed": 90, "Gar2": 4, "Othr": 4, "TenC": 2})
    extra_value = np.where(shed, rounded(np.exp(6.3 + rng.normal(0, 0.8, n)), 50, 15500, 50), 0)

    unfinished_sale = (age <= 1) & chance(0.6)
    terms = np.where(
        unfinished_sale,
        "Partial",
        pick({"Normal": 90, "Abnorml": 7.5, "Family": 1.5, "Alloca": 0.7, "AdjLand": 0.3}),
    )
    deed = np.select(
        [unfinished_sale, (terms == "Abnorml") & chance(0.35)],
        ["New", "COD"],
        pick({"WD": 96.5, "CWD": 0.8, "ConLD": 0.8, "ConLI": 0.6, "ConLw": 0.6, "Con": 0.3, "Oth": 0.4}),
    )

    # What it is worth.
    above = quality - 6
    value = 11.93 + 0.15 * rich + charm[part]
    value += 0.58 * np.log(living / 1450)
    value += 0.075 * above + 0.012 * np.maximum(above - 1, 0) ** 2
    value += 0.05 * above * np.tanh((living - 1450) / 500)
    settled = year - np.where(remodelled, 0.6 * renewed + 0.4 * built, built)
    value -= 0.26 * (1 - np.exp(-settled / 22))
    value += 0.16 * ((built < 1932) & (rich > 0) & (condition >= 6))
    value += 0.042 * (condition - 5) * np.minimum(age, 50) / 30
    usable = finished * np.where(np.isin(finish, ["GLQ", "ALQ"]), 1.0, 0.6)
    usable = usable + 0.5 * finished2 + 0.35 * unfinished
    value += 0.24 * usable / living * (0.55 + 0.15 * height)
    value += 0.055 * ((light == "Gd") & (finished > 0))
    value += 0.055 * (baths + ground_baths + 0.5 * (half_baths + ground_half_baths) - 2)
    value += 0.045 * (kitchen - 2.4) * (1 + 0.25 * np.clip(above, -2, 3)) - 0.07 * (kitchens > 1)
    value += 0.03 * (outside - 2.4) + 0.02 * (heat - 3) - 0.09 * ~air
    value += np.where(fireplaces > 0, 0.035 + 0.015 * (hearth - 2), 0.0) + 0.02 * (fireplaces > 1)
    value += np.where(no_garage, -0.1, 0.055 * (np.minimum(cars, 3) - 1.8))
    value += 0.0002 * (garage_area - 245 * cars)
    value += 0.02 * ((garage_finish == "Fin") & ~no_garage)
    value += (0.12 - 0.07 * np.clip(crowded, -1, 1)) * np.log(lot / 9000) * ~townhouse
    value += 0.045 * (place == "CulDSac") + 0.04 * (frontage_unknown & irregular)
    value += 0.08 * np.isin(near, ["PosN", "PosA"]) - 0.08 * np.isin(near, ["Feedr", "Artery"])
    value -= 0.04 * np.char.startswith(near.astype(str), "RR")
    value += 0.06 * (contour == "HLS") - 0.08 * (functional != "Typ")
    family = 0.6 + 0.4 * (bedrooms >= 3) + 0.6 * (bedrooms >= 4)
    value += 0.035 * np.cos(2 * np.pi * (month - 6) / 12) * family
    value += 0.035 * (deck > 0) * np.isin(month, [4, 5, 6, 7, 8]) + 0.0002 * screened + 0.12 * (pool > 0)
    value += np.array(MARKET)[year - 2006, (month - 1) // 3] * (1 + 0.5 * (rich > 0.7))
    value += np.select([terms == "Abnorml", terms == "Partial", terms == "Family"], [-0.13, 0.07, -0.06], 0.0)
    value += 0.02 * (fenced & (fence == "GdPrv")) - 0.2 * (zoning == "C (all)")
    # The same spread of prices for every seed, about that of the published data.
    value = 12.03 + 0.38 * (value - value.mean()) / value.std()
    value += rng.normal(0, 0.06, n) + chance(0.03) * rng.normal(0, 0.18, n)
    price = rounded(np.exp(value), 34900, 900000, 100)

    roof = pick({"Gable": 78, "Hip": 19.6, "Flat": 0.9, "Gambrel": 0.8, "Mansard": 0.5, "Shed": 0.2})
    basement, garaged = ground > 0, ~no_garage
    usual = graded(rng.normal(-0.6, 0.25, n))
    return {
        "Id": np.arange(n) + 1, "MSSubClass": subclass, "MSZoning": zoning,
        "LotFrontage": known(frontage, ~frontage_unknown), "LotArea": lot,
        "Street": pick({"Pave": 99.6, "Grvl": 0.4}),
        "Alley": known(pick({"Grvl": 55, "Pave": 45}), alley_known), "LotShape": shape,
        "LandContour": contour, "Utilities": pick({"AllPub": 99.9, "NoSeWa": 0.1}), "LotConfig": place,
        "LandSlope": slope, "Neighborhood": np.array(NEIGHBORHOODS, dtype=object)[part], "Condition1": near,
        "Condition2": also_near, "BldgType": kind, "HouseStyle": style, "OverallQual": quality,
        "OverallCond": condition, "YearBuilt": built, "YearRemodAdd": renewed,
        "RoofStyle": roof,
        "RoofMatl": pick({"CompShg": 98.2, "Tar&Grv": 0.8, "WdShngl": 0.5, "WdShake": 0.5}),
        "Exterior1st": cover, "Exterior2nd": cover2, "MasVnrType": known(veneer, ~veneer_unknown),
        "MasVnrArea": known(veneer_area, ~veneer_unknown), "ExterQual": grades(np.maximum(outside, 1)),
        "ExterCond": grades(np.maximum(usual, 1)), "Foundation": foundation,
        "BsmtQual": grades(np.maximum(height, 1), basement),
        "BsmtCond": grades(np.clip(usual, 1, 3), basement), "BsmtExposure": known(light, basement),
        "BsmtFinType1": known(finish, basement), "BsmtFinSF1": finished,
        "BsmtFinType2": known(finish2, basement), "BsmtFinSF2": finished2, "BsmtUnfSF": unfinished,
        "TotalBsmtSF": ground, "Heating": heating, "HeatingQC": grades(heat),
        "CentralAir": np.where(air, "Y", "N"), "Electrical": known(wiring, ~chance(0.0008)),
        "1stFlrSF": first, "2ndFlrSF": second, "LowQualFinSF": poor_area, "GrLivArea": living,
        "BsmtFullBath": ground_baths, "BsmtHalfBath": ground_half_baths, "FullBath": baths,
        "HalfBath": half_baths, "BedroomAbvGr": bedrooms, "KitchenAbvGr": kitchens,
        "KitchenQual": grades(np.maximum(kitchen, 1)), "TotRmsAbvGrd": rooms, "Functional": functional,
        "Fireplaces": fireplaces, "FireplaceQu": grades(hearth, fireplaces > 0),
        "GarageType": known(garage, garaged), "GarageYrBlt": known(garage_built, garaged),
        "GarageFinish": known(garage_finish, garaged), "GarageCars": cars, "GarageArea": garage_area,
        "GarageQual": grades(usual, garaged), "GarageCond": grades(usual, garaged),
        "PavedDrive": np.where(age > 50, pick({"Y": 78, "N": 17, "P": 5}), pick({"Y": 97, "N": 2, "P": 1})),
        "WoodDeckSF": deck, "OpenPorchSF": porch, "EnclosedPorch": enclosed, "3SsnPorch": seasonal,
        "ScreenPorch": screened, "PoolArea": pool, "PoolQC": grades(hearth, pool > 0),
        "Fence": known(fence, fenced), "MiscFeature": known(extra, shed), "MiscVal": extra_value,
        "MoSold": month, "YrSold": year, "SaleType": deed, "SaleCondition": terms, "SalePrice": price,
    }  # fmt: skip
