namespace RedKite.Host.Transfer;

/// <summary>What ends a transfer, as one line for the user. It never has a password.</summary>
internal sealed class TransferException(string message) : Exception(message);
