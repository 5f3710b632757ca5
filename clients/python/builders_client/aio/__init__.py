"""The client with `await`. script/clients writes the one without from it (`generated.sync`)."""
