--# nothing yet
DO 0;
