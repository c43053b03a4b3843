using System.Globalization;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Diagnostics;
using RedKite.Server.Diagnostics.Package;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Debug;

/// <summary>
/// DEBUG PACKAGE: the debug package as a bulk string. The client blocks while the package's thread builds it; its loop continues.
/// Unlike other subcommands it changes nothing and shows no data, so enable-debug-command does not restrict it: clients
/// on this machine may use it, and all others where a password is required.
/// </summary>
internal sealed class PackageCommand(ServerParts parts)
{
    private const int PatienceSeconds = 45;

    // DEBUG PACKAGE [LOG seconds] [TRACE seconds]
    internal void Execute(scoped in CommandContext cmd)
    {
        if (!TryParseOrReply(cmd, out PackageOptions options)) return;
        if (parts.Packages() is not { } packages)
        {
            cmd.Reply.Error("ERR there is no debug package because the setting 'diagnostics' is off"u8);
            return;
        }

        if (!packages.TryReserve())
        {
            cmd.Reply.Error("ERR a debug package is being built already"u8);
            return;
        }

        var late = new LateReply();
        TimeSpan patience = TimeSpan.FromSeconds(PatienceSeconds) + options.Log + options.Trace;
        if (!cmd.BlockUntil(cmd.NowMs + (long)patience.TotalMilliseconds, late, static () => "-ERR the debug package was not ready in time\r\n"u8.ToArray()))
        {
            packages.Release();
            cmd.Reply.Error("ERR DEBUG PACKAGE cannot wait in a transaction or script"u8);
            return;
        }

        Session session = cmd.Session;
        packages.Begin(options, (package, error) => parts.ReplyLater(session, late, package is null ? Error(error) : Bulk(package)));
    }

    private static bool TryParseOrReply(scoped in CommandContext cmd, out PackageOptions options)
    {
        options = PackageOptions.Default;
        for (int i = 2; i < cmd.Count; i += 2)
        {
            bool isLog = cmd.Is(i, "LOG"u8);
            if (i + 1 >= cmd.Count || !(isLog || cmd.Is(i, "TRACE"u8)))
            {
                cmd.Reply.Error("ERR syntax error"u8);
                return false;
            }

            TimeSpan limit = isLog ? PackageOptions.LogMax : PackageOptions.TraceMax;
            if (!RespNumber.TryParseInt64(cmd[i + 1], out long seconds) || seconds < 0 || seconds > limit.TotalSeconds)
            {
                cmd.Reply.Error(isLog ? "ERR LOG must be between 0 and 15 seconds"u8 : "ERR TRACE must be between 0 and 30 seconds"u8);
                return false;
            }

            options = isLog ? options with { Log = TimeSpan.FromSeconds(seconds) } : options with { Trace = TimeSpan.FromSeconds(seconds) };
        }

        return true;
    }

    private static byte[] Error(string? error) => Encoding.UTF8.GetBytes($"-ERR {error?.ReplaceLineEndings(" ")}\r\n");

    private static byte[] Bulk(byte[] package)
    {
        byte[] head = Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"${package.Length}\r\n"));
        return [.. head, .. package, .. "\r\n"u8];
    }
}
