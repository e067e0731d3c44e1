"""Sends the same requests about the same small clouds to roost and to the reference."""
