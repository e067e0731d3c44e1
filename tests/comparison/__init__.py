"""The same small clouds and requests, sent to roost and to the reference: do they agree?"""
