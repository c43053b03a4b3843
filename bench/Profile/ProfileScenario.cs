namespace RedKite.Profile;

/// <param name="Text">The command, with __key__ and __data__ as placeholders for keys and values.</param>
/// <param name="Share">Its number of turns in the mix.</param>
internal sealed record ProfileCommand(string Text, int Share = 1);

/// <summary>A load under which a server is profiled.</summary>
/// <param name="Name">The name on the command line.</param>
/// <param name="Pipeline">Requests that each connection sends at once.</param>
/// <param name="Keys">Numbered keys, all loaded first, that the commands use at random.</param>
internal sealed record ProfileScenario(string Name, string Purpose, int Pipeline, int Keys, params ProfileCommand[] Commands)
{
    /// <summary>All scenarios; a new one is a row here.</summary>
    internal static readonly ProfileScenario[] All =
    [
        new("get-p1", "GET, unpipelined", 1, 1_000_000, new ProfileCommand("GET __key__")),
        new("get-p16", "GET, 16 requests at once", 16, 1_000_000, new ProfileCommand("GET __key__")),
        new("get-p64", "GET, 64 requests at once", 64, 1_000_000, new ProfileCommand("GET __key__")),
        new("set-p16", "SET, 16 requests at once", 16, 1_000_000, new ProfileCommand("SET __key__ __data__")),
        new("mixed", "five commands, 16 requests at once", 16, 1_000_000, new ProfileCommand("GET __key__", 8), new ProfileCommand("SET __key__ __data__", 2),
            new ProfileCommand("INCR counter:__key__"), new ProfileCommand("EXISTS __key__"), new ProfileCommand("EXPIRE __key__ 3600")),
    ];

    /// <summary>Bytes per value.</summary>
    internal const int ValueBytes = 32;

    /// <summary>Connections of the load.</summary>
    internal const int Clients = 50;
}
