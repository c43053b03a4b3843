using System.Text;
using RedKite.Protocol;
using RedKite.Server.Acl;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Metrics;
using RedKite.Server.Model;
using RedKite.Server.Sessions;
using static RedKite.Server.Model.CommandFlags;

namespace RedKite.Server.Commands.Connection;

/// <summary>The CLIENT container. The table is the single declaration of its subcommands and this file's contents.</summary>
internal sealed class ClientCommands(ClientRegistry clients, UserRegistry users, ClientPause pause, Action endPause, Timeline timeline, TrackingCommands tracking)
{
    private const CommandFlags Usual = NoScript | Loading | Stale;

    // CLIENT LIST shows a client as often as its id is named, if no more ids are named than this: a line is a hundred times as long as an id.
    private const int RepeatedIdsMax = 1024;

    private const string KillSyntax =
        "filter:<old-format{ip:port}@!2.8.12 | new-format:<[ID client-id]@2.8.12 "
        + "| [TYPE client-type:<NORMAL | MASTER@3.2.0 | SLAVE | REPLICA@5.0.0 | PUBSUB>]@2.8.12 | [USER username] | [ADDR addr{ip:port}] "
        + "| [LADDR laddr{ip:port}]@6.2.0 | [SKIPME skipme:<YES | NO>] | [MAXAGE maxage:integer]@7.4.0 ...>>";

    private static readonly (string Version, string Change)[] KillHistory =
    [
        ("2.8.12", "Accepts filters by name."),
        ("2.8.12", "Adds `ID`."),
        ("3.2.0", "`TYPE` accepts `master`."),
        ("5.0.0", "`TYPE` accepts `replica`, another name for `slave`."),
        ("6.2.0", "Adds `LADDR`."),
        ("7.4.0", "Adds `MAXAGE`."),
    ];

    private static readonly (string Version, string Change)[] ListHistory =
    [
        ("2.8.12", "Adds the field `id`."),
        ("5.0.0", "Adds `TYPE`."),
        ("6.0.0", "Adds the field `user`."),
        ("6.2.0", "Adds `ID` and the fields `argv-mem`, `tot-mem`, `laddr` and `redir`."),
        ("7.0.0", "Adds the fields `resp`, `multi-mem`, `rbs` and `rbp`."),
        ("7.0.3", "Adds the field `ssub`."),
        ("7.2.0", "Adds the fields `lib-name` and `lib-ver`."),
        ("7.4.0", "Adds the field `watch`."),
        ("8.0.0", "Adds the field `io-thread`."),
    ];

    internal CommandFamily Family => KeepingCaching(new("connection", "connection",
    [
        new("CLIENT", -2, Sentinel, KeySpecs.None, WithoutSubcommand, new("2.4.0", "Depends on subcommand.", "A container for commands on client connections."),
        [
            new("CACHING", 3, Usual, KeySpecs.None, TrackingCommands.Caching, new("6.0.0", "O(1)", "Enables or disables tracking of the keys of the next command.", "mode:<YES | NO>")),
            new("CAPA", -3, Usual, KeySpecs.None, Capabilities, new("8.0.0", "O(1)", "Says what this client can handle. Nothing here depends on it.", "capability:string [capability:string ...]") { IsOfValkey = true }),
            new("GETNAME", 2, Usual | Sentinel, KeySpecs.None, GetName, new("2.6.9", "O(1)", "Returns the connection's name.")),
            new("GETREDIR", 2, Usual, KeySpecs.None, TrackingCommands.GetRedirection, new("6.0.0", "O(1)", "Returns the id of the client that receives this connection's invalidations.")),
            new("HELP", 2, Loading | Stale | Sentinel, KeySpecs.None, Help, new("5.0.0", "O(1)", "Lists the subcommands.")),
            new("ID", 2, Usual | Sentinel, KeySpecs.None, Id, new("5.0.0", "O(1)", "Returns the connection's id.")),
            new("IMPORT-SOURCE", 3, Usual, KeySpecs.None, ImportSource, new("8.1.0", "O(1)", "Fails: the server has no mode for imports.", "enabled:<ON | OFF>") { IsOfValkey = true }),
            new("INFO", 2, Usual | Sentinel, KeySpecs.None, Info, new("6.2.0", "O(1)", "Returns the properties of this connection.")) { Tips = ["nondeterministic_output"] },
            new("KILL", -3, Admin | Usual | Sentinel, KeySpecs.None, Kill, new("2.4.0", "O(N) where N is the number of client connections", "Closes the connections that match a filter.", KillSyntax) { History = KillHistory }),
            new("LIST", -2, Admin | Usual | Sentinel, KeySpecs.None, List, new("2.4.0", "O(N) where N is the number of client connections", "Returns the properties of open connections.", "[TYPE client-type:<NORMAL | MASTER | REPLICA | PUBSUB>]@5.0.0 [ID client-id [client-id ...]]@6.2.0") { History = ListHistory }) { Tips = ["nondeterministic_output"] },
            new("NO-EVICT", 3, Admin | Usual | Sentinel, KeySpecs.None, NoEvict, new("7.0.0", "O(1)", "Protects the connection from client eviction.", "enabled:<ON | OFF>")),
            new("NO-TOUCH", 3, Usual, KeySpecs.None, NoTouch, new("7.2.0", "O(1)", "Sets whether this connection's commands update the access time of keys.", "enabled:<ON | OFF>")),
            new("PAUSE", -3, Admin | Usual | Sentinel, KeySpecs.None, Pause, new("3.0.0", "O(1)", "Suspends the commands of all clients for a number of milliseconds.", "timeout:integer mode:[WRITE | ALL]@6.2.0") { History = [("6.2.0", "Adds the mode, which may be `WRITE`.")] }),
            new("REPLY", 3, Usual | Sentinel, KeySpecs.None, ReplyTo, new("3.2.0", "O(1)", "Enables, disables or skips replies on this connection.", "action:<ON | OFF | SKIP>")),
            new("SETINFO", 4, Usual | Sentinel, KeySpecs.None, SetInfo, new("7.2.0", "O(1)", "Sets the name or version of the connection's client library.", "attr:<LIB-NAME libname | LIB-VER libver>")) { Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"] },
            new("SETNAME", 3, Usual | Sentinel, KeySpecs.None, SetName, new("2.6.9", "O(1)", "Sets the connection's name.", "connection-name")) { Tips = ["request_policy:all_nodes", "response_policy:all_succeeded"] },
            new("TRACKING", -3, Usual, KeySpecs.None, tracking.Tracking, new("6.0.0", "O(1). Some options may introduce additional complexity.", "Configures tracking of the keys that this connection reads.", "status:<ON | OFF> [REDIRECT client-id:integer] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]")),
            new("TRACKINGINFO", 2, Usual, KeySpecs.None, TrackingCommands.TrackingInfo, new("6.2.0", "O(1)", "Returns the connection's tracking state.")),
            new("UNBLOCK", -3, Admin | Usual, KeySpecs.None, Unblock, new("5.0.0", "O(log N) where N is the number of client connections", "Unblocks a client that is blocked by a command.", "client-id unblock-type:[TIMEOUT | ERROR]")),
            new("UNPAUSE", 2, Admin | Usual, KeySpecs.None, Unpause, new("6.2.0", "O(N) Where N is the number of paused clients", "Resumes the commands of paused clients.")),
        ]),
    ]));

    /// <summary>Whether an argument is a valid name for a connection; otherwise replies an error.</summary>
    internal static bool IsNameOrReply(scoped in CommandContext cmd, int argument)
    {
        if (IsPrintable(cmd[argument])) return IsShortOrReply(cmd, argument);
        cmd.Reply.Error("ERR Client names cannot contain spaces, newlines or special characters."u8);
        return false;
    }

    private static bool IsShortOrReply(scoped in CommandContext cmd, int argument)
    {
        int bytesMax = Math.Min(cmd.Settings.ClientNameBytesMax, ArgumentReading.TextBytesMax);
        if (cmd[argument].Length <= bytesMax) return true;
        cmd.ReplyOverLimit(Limit.ClientNameBytes, $"ERR the name is too long, max-client-name-bytes is {bytesMax}");
        return false;
    }

    private static CommandFamily KeepingCaching(CommandFamily family)
    {
        foreach (Command subcommand in family.Commands[0].Subcommands) subcommand.KeepsCaching = true;
        return family;
    }

    // Never executed: CLIENT alone has too few arguments, and every other form names a subcommand.
    private static void WithoutSubcommand(ref CommandContext cmd) => cmd.ReplySyntaxError();

    // CLIENT GETNAME
    private static void GetName(ref CommandContext cmd)
    {
        if (cmd.Session.Name.Length == 0) cmd.Reply.Null();
        else cmd.Reply.Bulk(cmd.Session.Name);
    }

    // CLIENT HELP
    private static void Help(ref CommandContext cmd) => HelpReply.Write(
        cmd,
        "CACHING (YES|NO)",
        "    Enable or disable tracking of the next command's keys.",
        "GETNAME",
        "    Return this connection's name.",
        "GETREDIR",
        "    Return the id of the client that receives this connection's invalidations.",
        "ID",
        "    Return this connection's id.",
        "INFO",
        "    Return this connection's line of CLIENT LIST.",
        "KILL <ip:port>",
        "    Close the connection from this address.",
        "KILL <option> <value> [<option> <value> [...]]",
        "    Close the connections that match every option:",
        "    * ADDR (<ip:port>|<unixsocket>:0), LADDR (<ip:port>|<unixsocket>:0)",
        "      The client's address, the server's address.",
        "    * ID <client-id>, USER <username>",
        "      One connection, the connections of one user.",
        "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
        "      Connections of one type.",
        "    * MAXAGE <seconds>",
        "      Connections of this age or older.",
        "    * SKIPME (YES|NO)",
        "      Whether to spare this connection (default: yes).",
        "LIST [options ...]",
        "    Return one line per connection:",
        "    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
        "      Only connections of one type.",
        "    * ID <client-id> [<client-id> [...]]",
        "      Only these connections.",
        "NO-EVICT (ON|OFF)",
        "    Protect this connection from client eviction.",
        "NO-TOUCH (ON|OFF)",
        "    Leave the access times of keys unchanged by this connection's commands.",
        "PAUSE <timeout> [WRITE|ALL]",
        "    Suspend all commands, or those that write, for a number of milliseconds.",
        "REPLY (ON|OFF|SKIP)",
        "    Enable or disable replies, or skip the reply to the next command.",
        "SETINFO <option> <value>",
        "    Set the client library's name (LIB-NAME) or version (LIB-VER).",
        "SETNAME <name>",
        "    Set this connection's name.",
        "TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]",
        "         [OPTIN] [OPTOUT] [NOLOOP]",
        "    Send the names of keys that this connection has read when they change.",
        "TRACKINGINFO",
        "    Return this connection's tracking state.",
        "UNBLOCK <clientid> [TIMEOUT|ERROR]",
        "    Unblock a client that is blocked by a command.",
        "UNPAUSE",
        "    Resume commands suspended by PAUSE.");

    // CLIENT ID
    private static void Id(ref CommandContext cmd) => cmd.Reply.Integer(cmd.Session.Id);

    // CLIENT INFO
    private static void Info(ref CommandContext cmd) => ReplyLines(cmd, [cmd.Session]);

    // CLIENT KILL addr:port
    // CLIENT KILL [ID id] [TYPE type] [USER name] [ADDR addr:port] [LADDR addr:port] [SKIPME yes|no] [MAXAGE seconds]
    private void Kill(ref CommandContext cmd)
    {
        var filter = new ClientFilter();
        if (cmd.Count == 3) filter.Address = cmd.Text(2);
        else if (!TryFilterOrReply(cmd, out filter)) return;

        int killed = 0;
        foreach (Session session in clients.InOrder)
        {
            if (!filter.Matches(session, cmd.Session, cmd.Time.SteadyMs)) continue;
            killed++;
            session.IsClosedByServer = true;
            timeline.Add(new TimelineEvent(cmd.NowMs, TimelineKind.Killed, 0, session.Id, session.Address, session.Name, ""));

            // The caller gets its reply first.
            if (session == cmd.Session) session.CloseAfterReply();
            else Kill(cmd, session);
        }

        if (cmd.Count > 3) cmd.Reply.Integer(killed);
        else if (killed > 0) cmd.Reply.Ok();
        else cmd.Reply.Error("ERR No such client"u8);
    }

    // CLIENT LIST [TYPE type] [ID id [id ...]]
    private void List(ref CommandContext cmd)
    {
        if (cmd.Count == 2)
        {
            ReplyLines(cmd, clients.InOrder);
        }
        else if (cmd.Count == 4 && cmd.Is(2, "TYPE"u8))
        {
            if (TryTypeOrReply(cmd, 3, out ClientType type)) ReplyLines(cmd, clients.InOrder.Where(session => session.Type == type));
        }
        else if (cmd.Count > 3 && cmd.Is(2, "ID"u8))
        {
            var sessions = new List<Session>();
            HashSet<Session>? named = cmd.Count > RepeatedIdsMax ? [] : null;
            for (int i = 3; i < cmd.Count; i++)
            {
                if (!RespNumber.TryParseInt64(cmd[i], out long id))
                {
                    cmd.Reply.Error("ERR Invalid client ID"u8);
                    return;
                }

                if (clients.Find(id) is { } session && (named is null || named.Add(session))) sessions.Add(session);
            }

            ReplyLines(cmd, sessions);
        }
        else
        {
            cmd.ReplySyntaxError();
        }
    }

    // CLIENT CAPA capability [capability ...], as in Valkey 8.0
    private static void Capabilities(ref CommandContext cmd) => cmd.Reply.Ok();

    // CLIENT IMPORT-SOURCE ON|OFF, as in Valkey 8.1 without its import mode
    private static void ImportSource(ref CommandContext cmd) => cmd.Reply.Error("ERR Server is not in import mode"u8);

    // CLIENT NO-EVICT ON|OFF
    private static void NoEvict(ref CommandContext cmd)
    {
        if (!TrySwitchOrReply(cmd, out bool on)) return;
        cmd.Session.NoEvict = on;
        cmd.Reply.Ok();
    }

    // CLIENT NO-TOUCH ON|OFF
    private static void NoTouch(ref CommandContext cmd)
    {
        if (!TrySwitchOrReply(cmd, out bool on)) return;
        cmd.Session.NoTouch = on;
        cmd.Reply.Ok();
    }

    // A blocked client is no longer served.
    private void Kill(scoped in CommandContext cmd, Session session)
    {
        session.Blocked?.TryEnd();
        clients.Kill(session);
    }

    // CLIENT PAUSE timeout [WRITE|ALL]
    private void Pause(ref CommandContext cmd)
    {
        if (cmd.Count > 4)
        {
            ReplyWrongForm(cmd);
            return;
        }

        bool writesOnly = cmd.Count == 4 && cmd.Is(3, "WRITE"u8);
        if (cmd.Count == 4 && !writesOnly && !cmd.Is(3, "ALL"u8))
        {
            cmd.Reply.Error("ERR CLIENT PAUSE mode must be WRITE or ALL"u8);
            return;
        }

        if (!RespNumber.TryParseInt64(cmd[2], out long timeoutMs))
        {
            cmd.Reply.Error("ERR timeout is not an integer or out of range"u8);
        }
        else if (timeoutMs < 0)
        {
            cmd.Reply.Error("ERR timeout is negative"u8);
        }
        else if (timeoutMs > long.MaxValue - cmd.Time.SteadyMs)
        {
            cmd.Reply.Error("ERR timeout is out of range"u8);
        }
        else
        {
            pause.Begin(cmd.Time.SteadyMs + timeoutMs, writesOnly, cmd.Time.SteadyMs);
            cmd.Reply.Ok();
        }
    }

    // CLIENT REPLY ON|OFF|SKIP
    private static void ReplyTo(ref CommandContext cmd)
    {
        Session session = cmd.Session;
        if (cmd.Is(2, "ON"u8))
        {
            if (session.ReplyMode != ReplyMode.SkipNext) session.ReplyMode = ReplyMode.On; // SkipNext: it is behind SKIP in a transaction
            cmd.Reply.Ok();
        }
        else if (cmd.Is(2, "OFF"u8))
        {
            session.ReplyMode = ReplyMode.Off;
        }
        else if (cmd.Is(2, "SKIP"u8))
        {
            if (session.ReplyMode != ReplyMode.Off) session.ReplyMode = ReplyMode.SkipNext;
        }
        else
        {
            cmd.ReplySyntaxError();
        }
    }

    // CLIENT SETINFO LIB-NAME|LIB-VER value
    private static void SetInfo(ref CommandContext cmd)
    {
        bool isName = cmd.Is(2, "LIB-NAME"u8);
        if (!isName && !cmd.Is(2, "LIB-VER"u8))
        {
            cmd.Reply.Error($"ERR Unrecognized option '{cmd.ShownText(2)}'");
            return;
        }

        if (!IsPrintable(cmd[3]))
        {
            cmd.Reply.Error($"ERR {cmd.ShownText(2)} cannot contain spaces, newlines or special characters.");
            return;
        }

        if (!IsShortOrReply(cmd, 3)) return;
        if (isName) cmd.Session.LibraryName = cmd.Text(3);
        else cmd.Session.LibraryVersion = cmd.Text(3);
        cmd.Reply.Ok();
    }

    // CLIENT SETNAME name
    private static void SetName(ref CommandContext cmd)
    {
        if (!IsNameOrReply(cmd, 2)) return;
        cmd.Session.Name = cmd.Text(2);
        cmd.Reply.Ok();
    }

    // CLIENT UNBLOCK id [TIMEOUT|ERROR]
    private void Unblock(ref CommandContext cmd)
    {
        if (cmd.Count > 4)
        {
            ReplyWrongForm(cmd);
            return;
        }

        bool asError = cmd.Count == 4 && cmd.Is(3, "ERROR"u8);
        if (cmd.Count == 4 && !asError && !cmd.Is(3, "TIMEOUT"u8))
        {
            cmd.Reply.Error("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR"u8);
            return;
        }

        if (!cmd.TryIntegerOrReply(2, out long id)) return;
        bool ended = clients.Find(id) is { } session && cmd.Unblock(session, asError ? "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"u8 : []);
        cmd.Reply.Integer(ended ? 1 : 0);
    }

    // CLIENT UNPAUSE
    private void Unpause(ref CommandContext cmd)
    {
        endPause();
        cmd.Reply.Ok();
    }

    private bool TryFilterOrReply(scoped in CommandContext cmd, out ClientFilter filter)
    {
        filter = new ClientFilter { SkipsCaller = true };
        for (int i = 2; i < cmd.Count; i += 2)
        {
            if (i + 1 == cmd.Count)
            {
                cmd.ReplySyntaxError();
                return false;
            }

            if (!TryConditionOrReply(cmd, i, ref filter)) return false;
        }

        return true;
    }

    private bool TryConditionOrReply(scoped in CommandContext cmd, int option, ref ClientFilter filter)
    {
        int value = option + 1;
        if (cmd.Is(option, "ID"u8))
        {
            if (!RespNumber.TryParseInt64(cmd[value], out long id) || id < 1)
            {
                cmd.Reply.Error("ERR client-id should be greater than 0"u8);
                return false;
            }

            filter.Id = id;
        }
        else if (cmd.Is(option, "MAXAGE"u8))
        {
            if (!RespNumber.TryParseInt64(cmd[value], out long seconds))
            {
                cmd.Reply.Error("ERR maxage is not an integer or out of range"u8);
                return false;
            }

            if (seconds <= 0)
            {
                cmd.Reply.Error("ERR maxage should be greater than 0"u8);
                return false;
            }

            filter.AgeSecondsMin = seconds;
        }
        else if (cmd.Is(option, "TYPE"u8))
        {
            if (!TryTypeOrReply(cmd, value, out ClientType type)) return false;
            filter.Type = type;
        }
        else if (cmd.Is(option, "ADDR"u8))
        {
            filter.Address = cmd.Text(value);
        }
        else if (cmd.Is(option, "LADDR"u8))
        {
            filter.LocalAddress = cmd.Text(value);
        }
        else if (cmd.Is(option, "USER"u8))
        {
            filter.User = users.FindUser(cmd.Text(value));
            if (filter.User is not null) return true;
            cmd.Reply.Error($"ERR No such user '{cmd.ShownText(value)}'");
            return false;
        }
        else if (cmd.Is(option, "SKIPME"u8) && (cmd.Is(value, "YES"u8) || cmd.Is(value, "NO"u8)))
        {
            filter.SkipsCaller = cmd.Is(value, "YES"u8);
        }
        else
        {
            cmd.ReplySyntaxError();
            return false;
        }

        return true;
    }

    private static bool TryTypeOrReply(scoped in CommandContext cmd, int argument, out ClientType type)
    {
        type = ClientType.Normal;
        if (cmd.Is(argument, "NORMAL"u8)) return true;
        type = ClientType.Replica;
        if (cmd.Is(argument, "REPLICA"u8) || cmd.Is(argument, "SLAVE"u8)) return true;
        type = ClientType.PubSub;
        if (cmd.Is(argument, "PUBSUB"u8)) return true;
        type = ClientType.Master;
        if (cmd.Is(argument, "MASTER"u8)) return true;
        cmd.Reply.Error($"ERR Unknown client type '{cmd.ShownText(argument)}'");
        return false;
    }

    private static bool TrySwitchOrReply(scoped in CommandContext cmd, out bool on)
    {
        on = cmd.Is(2, "ON"u8);
        if (on || cmd.Is(2, "OFF"u8)) return true;
        cmd.ReplySyntaxError();
        return false;
    }

    private static void ReplyLines(scoped in CommandContext cmd, IEnumerable<Session> sessions)
    {
        var text = new StringBuilder();
        foreach (Session session in sessions) ClientDescription.Append(text, session, cmd);
        cmd.Reply.Verbatim("txt"u8, Encoding.Latin1.GetBytes(text.ToString()));
    }

    private static void ReplyWrongForm(scoped in CommandContext cmd) =>
        cmd.Reply.Error($"ERR unknown subcommand or wrong number of arguments for '{cmd.ShownText(1)}'. Try {cmd.ContainerText()} HELP.");

    // As in Redis, all characters from ! to ~, so that the fields of CLIENT LIST are unambiguous; and as in Redis, a zero byte
    // ends the text that is checked and that CLIENT LIST shows.
    private static bool IsPrintable(ReadOnlySpan<byte> text) =>
        text.IndexOfAnyExceptInRange((byte)'!', (byte)'~') is var at && (at < 0 || text[at] == 0);
}
