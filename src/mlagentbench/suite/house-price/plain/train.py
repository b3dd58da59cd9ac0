"""A random forest on all columns, categories as numbers: what a practitioner tries first."""

import os

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

SEED = int(os.environ.get("SEED", "0"))

train = pd.read_csv("train.csv", index_col="Id")
test = pd.read_csv("test.csv", index_col="Id")
X, y = train.drop(columns="SalePrice").dropna(axis="columns", how="all"), train["SalePrice"]
test = test[X.columns]
categories = X.select_dtypes(exclude="number").columns
X = X.astype(dict.fromkeys(categories, object)).fillna(dict.fromkeys(categories, "none"))
test = test.astype(dict.fromkeys(categories, object)).fillna(dict.fromkeys(categories, "none"))
train_X, valid_X, train_y, valid_y = train_test_split(X, y, test_size=0.2, random_state=SEED)

model = make_pipeline(
    make_column_transformer(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), categories),
        (SimpleImputer(strategy="median"), X.columns.difference(categories)),
    ),
    RandomForestRegressor(n_estimators=100, random_state=SEED, n_jobs=1),
)
model.fit(train_X, train_y)
print(f"validation MAE: {mean_absolute_error(valid_y, model.predict(valid_X)):.1f}")

model.fit(X, y)
pd.DataFrame({"Id": test.index, "SalePrice": model.predict(test)}).to_csv("submission.csv", index=False)
