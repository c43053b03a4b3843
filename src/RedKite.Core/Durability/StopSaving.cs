namespace RedKite.Server.Durability;

/// <summary>Whether the data is saved when the server stops.</summary>
internal enum StopSaving : byte
{
    /// <summary>If there are save points.</summary>
    BySavePoints,

    Always,

    Never,
}
