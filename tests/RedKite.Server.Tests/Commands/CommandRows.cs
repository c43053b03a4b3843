using RedKite.Server.Model;

namespace RedKite.Server.Tests.Commands;

/// <summary>Every command of a server with the default settings.</summary>
internal static class CommandRows
{
    internal static CommandTable Table { get; } = Read();

    private static CommandTable Read()
    {
        RedKiteServer server = RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["loops"] = "1" } }).GetAwaiter().GetResult();
        CommandTable commands = server.Engine.Commands;
        server.StopAsync().GetAwaiter().GetResult();
        return commands;
    }
}
