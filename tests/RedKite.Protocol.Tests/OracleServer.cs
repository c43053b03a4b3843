using System.ComponentModel;
using RedKite.Testing;

namespace RedKite.Protocol.Tests;

/// <summary>Redis itself, where it is installed; elsewhere the test is skipped and says so.</summary>
internal static class OracleServer
{
    internal static ServerProcess Start()
    {
        try
        {
            return ServerProcess.Start(ServerProgram.Oracle, "--enable-debug-command", "yes");
        }
        catch (Win32Exception)
        {
            Assert.Skip("redis-server is not installed here");
            throw;
        }
    }
}
