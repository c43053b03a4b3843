using System.ComponentModel;
using RedKite.TestSupport;

namespace RedKite.Protocol.Tests;

/// <summary>Redis itself if it is installed; otherwise the test is skipped with a message.</summary>
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
