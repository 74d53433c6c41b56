import os

from dealer.client import SyncClient

with SyncClient(os.environ["CUTCARD_ADDRESS"], os.environ["CUTCARD_KEY"]) as client:
    hand = client.open_hand("table-1", seats=[1, 2, 3], contribute_as=["my-room"])
    for street in ("third", "fourth", "fifth", "sixth", "seventh"):
        print(street, *(f"{card.seat}:{card}" for card in hand.deal_street(street)))
    print("revealed by entry", hand.close().index, "of the log; the deck was", *hand.deck)
