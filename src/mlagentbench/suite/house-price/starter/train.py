"""Predicts house prices: reads the data, holds out a validation part, fits a model, writes a submission."""

import os

import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import train_test_split

SEED = int(os.environ.get("SEED", "0"))

train = pd.read_csv("train.csv", index_col="Id")
test = pd.read_csv("test.csv", index_col="Id")

# The columns that the model looks at. There are many more: see data_description.txt.
columns = ["LotArea", "YearBuilt", "1stFlrSF", "2ndFlrSF", "FullBath", "BedroomAbvGr", "TotRmsAbvGrd"]

train_X, valid_X, train_y, valid_y = train_test_split(
    train[columns], train["SalePrice"], test_size=0.2, random_state=SEED
)

# ---- Your model goes here. This one only makes the script run. ----
model = LinearRegression()
model.fit(train_X, train_y)
# -------------------------------------------------------------------

print(f"validation MAE: {mean_absolute_error(valid_y, model.predict(valid_X)):.1f}")

submission = pd.DataFrame({"Id": test.index, "SalePrice": model.predict(test[columns])})
submission.to_csv("submission.csv", index=False)
