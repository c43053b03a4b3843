using System.Text;
using RedKite.TestSupport;

namespace RedKite.Testing.Tests;

/// <summary>A command as separate arguments.</summary>
internal static class ConnectionCalls
{
    internal static RespValue Execute(this RespConnection connection, params string[] arguments) => connection.Run([.. arguments.Select(Encoding.UTF8.GetBytes)]);
}
