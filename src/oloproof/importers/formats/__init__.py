"""The formats that can be imported, a file each; they are strangers to one another."""
