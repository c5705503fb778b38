SET bytea_output = 'hex'
SET datestyle = 'ISO, YMD'
SET extra_float_digits = 1
SET intervalstyle = 'postgres'
SET timezone = 'UTC'
