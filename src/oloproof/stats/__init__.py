"""The mathematics: numbers in, numbers out. Import the module that you need; none of them imports numpy or scipy."""
