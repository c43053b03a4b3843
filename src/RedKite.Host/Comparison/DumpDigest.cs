namespace RedKite.Host.Comparison;

/// <summary>
/// The digest of a value from its dump, whichever server and version has written it: equal values may have different dumps. A server in this process
/// restores it.
/// </summary>
internal sealed class DumpDigest : IDisposable
{
    private static readonly byte[] Key = "value"u8.ToArray();

    private readonly Lazy<RedKiteServer> _server = new(static () =>
    {
        var options = new RedKiteOptions { Loops = 1, LoadOnStart = false };
        options.Settings["diagnostics"] = "no";
        options.Settings["enable-debug-command"] = "yes";
        return RedKiteServer.StartAsync(options).GetAwaiter().GetResult();
    });

    /// <summary>The digest; null: the dump has a format that is not known.</summary>
    internal string? Of(byte[] dump)
    {
        RedKiteServer server = _server.Value;
        using RedKiteSession session = server.CreateSession();
        if (session.Execute("RESTORE"u8.ToArray(), Key, "0"u8.ToArray(), dump, "REPLACE"u8.ToArray()).IsError) return null;
        RedKiteReply digest = session.Execute("DEBUG"u8.ToArray(), "DIGEST-VALUE"u8.ToArray(), Key);
        session.Execute("DEL"u8.ToArray(), Key);
        return digest.Items[0].Text;
    }

    public void Dispose()
    {
        if (_server.IsValueCreated) _server.Value.DisposeAsync().AsTask().GetAwaiter().GetResult();
    }
}
