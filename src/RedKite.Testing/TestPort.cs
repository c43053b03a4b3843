using System.Globalization;

namespace RedKite.Testing;

/// <summary>The port of a test server, as its faults change it.</summary>
internal sealed class TestPort(RedKiteServer server)
{
    /// <summary>The port; 0 without one.</summary>
    internal int Number { get; } = server.Port;

    /// <summary>Opens or closes it.</summary>
    internal void Listen(bool on)
    {
        // First the port that the system chose becomes the server's: then port 0 is none.
        Set(Number);
        if (!on) Set(0);
    }

    /// <summary>Executes what clients have been held for until now.</summary>
    internal void RunDue() => server.RunDue();

    private void Set(int port)
    {
        RedKiteReply reply = server.Execute("CONFIG", "SET", "port", port.ToString(CultureInfo.InvariantCulture));
        if (reply.IsError) throw new InvalidOperationException($"The port cannot be opened or closed: {reply.Text}");
    }
}
