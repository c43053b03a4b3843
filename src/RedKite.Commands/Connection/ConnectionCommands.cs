using RedKite.Protocol;
using RedKite.Server.Acl;
using RedKite.Server.Commands.Transactions;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Connection;

/// <summary>Connection commands. The table is their single declaration and this file's contents; CLIENT has its own.</summary>
internal sealed class ConnectionCommands
{
    private readonly UserRegistry _users;
    private readonly WatchedKeys _watched;

    internal ConnectionCommands(UserRegistry users, WatchedKeys watched)
    {
        _users = users;
        _watched = watched;
        Family = NewFamily();
    }

    internal CommandFamily Family { get; }

    private CommandFamily NewFamily() => new("connection", "connection",
    [
        new("AUTH", -2, NoScript | Loading | Stale | Fast | NoAuth | AllowBusy | Sentinel, KeySpecs.None, Auth, new("1.0.0", "O(N) where N is the number of passwords defined for the user", "Authenticates the connection.", "[username]@6.0.0 password") { History = [("6.0.0", "Accepts a user name.")] }),
        new("ECHO", 2, Loading | Stale | Fast, KeySpecs.None, Echo, new("1.0.0", "O(1)", "Returns the given string.", "message")),
        new("HELLO", -1, NoScript | Loading | Stale | Fast | NoAuth | AllowBusy | Sentinel, KeySpecs.None, Hello, new("6.0.0", "O(1)", "Selects the protocol, optionally authenticates, and returns properties of the server.", "arguments:[protover [AUTH auth:(username password)] [SETNAME clientname]]") { History = [("6.2.0", "The protocol version is optional.")] }),
        new("PING", -1, Fast | Sentinel | AllowedToSubscribers, KeySpecs.None, Ping, new("1.0.0", "O(1)", "Returns PONG or the given message.", "[message]")) { IsRefusedWithWrites = true, Tips = ["request_policy:all_shards", "response_policy:all_succeeded"] },
        new("QUIT", -1, NoScript | Loading | Stale | Fast | NoAuth | AllowBusy | AllowedToSubscribers | NotQueued, KeySpecs.None, Quit, new("1.0.0", "O(1)", "Closes the connection.") { DeprecatedSince = "7.2.0", ReplacedBy = "just closing the connection" }),
        new("RESET", 1, NoScript | Loading | Stale | Fast | NoAuth | AllowBusy | AllowedToSubscribers | NotQueued, KeySpecs.None, Reset, new("6.2.0", "O(1)", "Resets the connection to its initial state.")) { UsesStripes = TransactionCommands.WatchedStripes },
        new("SELECT", 2, Loading | Stale | Fast, KeySpecs.None, Select, new("1.0.0", "O(1)", "Selects the connection's database.", "index")),
    ]);

    // AUTH [username] password
    private void Auth(ref CommandContext cmd)
    {
        if (cmd.Count > 3)
        {
            cmd.ReplySyntaxError();
            return;
        }

        for (int i = 1; i < cmd.Count; i++) cmd.Arguments.Redact(i);
        if (cmd.Count == 2 && _users.DefaultNeedsNoPassword)
        {
            cmd.Reply.Error("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?"u8);
            return;
        }

        if (AuthenticateOrReply(cmd, cmd.Count == 3 ? cmd[1] : "default"u8, cmd[cmd.Count - 1])) cmd.Reply.Ok();
    }

    // ECHO message
    private static void Echo(ref CommandContext cmd) => cmd.Reply.Bulk(cmd[1]);

    // HELLO [protover [AUTH username password] [SETNAME clientname]]
    private void Hello(ref CommandContext cmd)
    {
        bool resp3 = cmd.Session.Resp3;
        if (cmd.Count > 1 && !TryProtocolOrReply(cmd, out resp3)) return;

        int password = 0;
        int name = 0;
        for (int i = 2; i < cmd.Count; i++)
        {
            if (cmd.Is(i, "AUTH"u8) && i + 2 < cmd.Count)
            {
                cmd.Arguments.Redact(i + 1);
                cmd.Arguments.Redact(i + 2);
                password = i + 2;
                i += 2;
            }
            else if (cmd.Is(i, "SETNAME"u8) && i + 1 < cmd.Count)
            {
                name = ++i;
                if (!ClientCommands.IsNameOrReply(cmd, name)) return;
            }
            else
            {
                cmd.Reply.Error($"ERR Syntax error in HELLO option '{cmd.ShownText(i)}'");
                return;
            }
        }

        if (password > 0 && !AuthenticateOrReply(cmd, cmd[password - 1], cmd[password])) return;
        if (!cmd.Session.Authenticated)
        {
            cmd.Reply.Error("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time"u8);
            return;
        }

        if (name > 0) cmd.Session.Name = cmd.Text(name);
        UseProtocol(cmd, resp3);
        ReplyServerFacts(cmd);
    }

    // PING [message]
    private static void Ping(ref CommandContext cmd)
    {
        if (cmd.Session.IsSubscriber && cmd.Count <= 2)
        {
            // In the form of a message: that is what the client expects.
            cmd.Reply.Array(2);
            cmd.Reply.Bulk("pong"u8);
            cmd.Reply.Bulk(cmd.Count == 2 ? cmd[1] : []);
        }
        else if (cmd.Count == 1) cmd.Reply.SimpleString("PONG"u8);
        else if (cmd.Count == 2) cmd.Reply.Bulk(cmd[1]);
        else cmd.Reply.Error("ERR wrong number of arguments for 'ping' command"u8);
    }

    // QUIT
    private static void Quit(ref CommandContext cmd)
    {
        cmd.Session.CloseAfterReply();
        cmd.Reply.Ok();
    }

    // RESET
    private void Reset(ref CommandContext cmd)
    {
        Session session = cmd.Session;
        cmd.Select(0);
        _watched.Forget(session.Watch);
        UseProtocol(cmd, resp3: false);
        bool isInProcess = session.Connection is null;
        session.Reset(isInProcess ? _users.InProcess : _users.Default, authenticated: isInProcess || _users.AllowsAnonymous);
        cmd.Reply.SimpleString("RESET"u8);
    }

    // SELECT index
    private static void Select(ref CommandContext cmd)
    {
        if (!cmd.TryIntegerOrReply(1, out long index)) return;
        if (index is < int.MinValue or > int.MaxValue)
        {
            cmd.Reply.Error("ERR value is out of range, value must between -2147483648 and 2147483647"u8);
        }
        else if (index != 0 && cmd.Settings is { ClusterEnabled: true, Databases: 1 })
        {
            cmd.Reply.Error("ERR SELECT is not allowed in cluster mode"u8);
        }
        else if (index < 0 || index >= cmd.Settings.Databases)
        {
            cmd.Reply.Error("ERR DB index is out of range"u8);
        }
        else
        {
            cmd.Select((int)index);
            cmd.Reply.Ok();
        }
    }

    // A failed attempt leaves an authenticated client unchanged.
    private bool AuthenticateOrReply(scoped in CommandContext cmd, ReadOnlySpan<byte> name, ReadOnlySpan<byte> password)
    {
        string userName = ArgumentReading.Text(name);
        string from = cmd.Session.Connection is { } connection ? connection.RemoteAddress.Host : "";
        if (!_users.FailedLogins.MayTry(from, cmd.Time.SteadyMs))
        {
            cmd.Reply.Error("ERR Too many failed logins from this address. Try again in a minute."u8);
            return false;
        }

        if (_users.Authenticate(userName, password) is not { } user)
        {
            cmd.Metrics.CountDeniedLogin();
            _users.FailedLogins.Note(from, cmd.Time.SteadyMs);
            _users.Log.Add(cmd, DenialReason.Authentication, DenialContext.TopLevel, cmd[0], userName);
            cmd.Reply.Error("WRONGPASS invalid username-password pair or user is disabled."u8);
            return false;
        }

        cmd.Session.Authenticated = true;
        cmd.Session.User = user;
        return true;
    }

    private static bool TryProtocolOrReply(scoped in CommandContext cmd, out bool resp3)
    {
        resp3 = false;
        if (!RespNumber.TryParseInt64(cmd[1], out long version))
        {
            cmd.Reply.Error("ERR Protocol version is not an integer or out of range"u8);
            return false;
        }

        if (version is < 2 or > 3)
        {
            cmd.Reply.Error("NOPROTO unsupported protocol version"u8);
            return false;
        }

        resp3 = version == 3;
        return true;
    }

    private static void UseProtocol(scoped in CommandContext cmd, bool resp3)
    {
        cmd.Session.Resp3 = resp3;
        cmd.Reply.Resp3 = resp3;
    }

    private static void ReplyServerFacts(scoped in CommandContext cmd)
    {
        ReplyWriter reply = cmd.Reply;
        reply.Map(7);
        reply.Bulk("server"u8);
        reply.Bulk("redis"u8);
        reply.Bulk("version"u8);
        reply.Bulk(cmd.Settings.ReportedRedisVersion);
        reply.Bulk("proto"u8);
        reply.Integer(cmd.Session.Resp3 ? 3 : 2);
        reply.Bulk("id"u8);
        reply.Integer(cmd.Session.Id);
        reply.Bulk("mode"u8);
        reply.Bulk(cmd.Settings.ClusterEnabled ? "cluster"u8 : "standalone"u8);
        reply.Bulk("role"u8);
        reply.Bulk("master"u8);
        reply.Bulk("modules"u8);
        ServerModule.ReplyList(reply);
    }
}
