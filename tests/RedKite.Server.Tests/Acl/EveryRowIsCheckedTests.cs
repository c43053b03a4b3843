using System.Text;
using RedKite.Protocol;
using RedKite.Server.Acl;
using RedKite.Server.Execution;
using RedKite.Server.Model;
using RedKite.TestSupport;

namespace RedKite.Server.Tests.Acl;

/// <summary>Every row of the command table passes the one check: its name, every position of a key with its access, every channel.</summary>
public sealed class EveryRowIsCheckedTests : IAsyncLifetime
{
    private const int RequestsPerRow = 4000;

    private static readonly string[] Words =
    [
        "a", "b", "1", "2", "3", "0", "km", "u8", "STORE", "STOREDIST", "BY", "GET", "LIMIT", "COUNT", "BLOCK", "GROUP", "STREAMS", "KEYS", "SET", "FIELDS", "DB", "",
    ];

    private RedKiteServer _server = null!;
    private CommandExecutor _executor = null!;

    public async ValueTask InitializeAsync()
    {
        _server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["loops"] = "1" } });
        _executor = _server.Engine.NewExecutor();
    }

    public async ValueTask DisposeAsync() => await _server.DisposeAsync();

    [Fact]
    public void Every_command_is_denied_to_a_user_with_all_other_commands()
    {
        using RedKiteSession admin = _server.CreateSession();
        using RedKiteSession client = _server.CreateSession();
        int denied = 0;
        foreach (Command command in _server.Engine.Commands.All)
        {
            if (command.Subcommands.Length > 0 && command.Arity is -2 or 2) continue; // never executed
            string[] request = [.. command.FullName.Split('|'), .. Enumerable.Repeat("x", Math.Abs(command.Arity) - (command.Parent is null ? 1 : 2))];
            Assert.Equal("OK", admin.Execute("ACL", "SETUSER", "u", "reset", "on", "nopass", "~*", "&*", "+@all", "-" + command.FullName).Text);
            Assert.Equal("OK", client.Execute("AUTH", "u", "x").Text);
            if (command.Is(CommandFlags.NoAuth)) continue;
            RedKiteReply reply = client.Execute(request);
            if (command.Is(CommandFlags.Protected)) Assert.StartsWith($"ERR {(command.Parent ?? command).Name.ToUpperInvariant()} command not allowed.", reply.Text, StringComparison.Ordinal);
            else Assert.Equal((command.RunsQueued ? "EXECABORT Transaction discarded because of: " : "") + $"NOPERM User u has no permissions to run the '{command.FullName}' command", reply.Text);
            denied++;
        }

        Assert.InRange(denied, 200, int.MaxValue);
        Assert.InRange(_server.Engine.Users.Log.Count, 100, 128);
    }

    [Fact]
    public void Every_position_of_a_key_is_checked_with_its_access()
    {
        var random = new Random(20261122);
        foreach (Command command in _server.Engine.Commands.All)
        {
            int specifications = command.Keys.Count(spec => (spec.Flags & KeyFlags.NotKey) == 0 && (!spec.IsUnknown || spec.Keyword.Length > 0));
            var seen = new HashSet<KeySpec>();
            for (int i = 0; i < RequestsPerRow && seen.Count < specifications; i++)
            {
                int words = Math.Abs(command.Arity) - (command.Parent is null ? 1 : 2) + (command.Arity < 0 ? random.Next(6) : 0);
                CheckKeys(command, [.. command.FullName.Split('|'), .. Enumerable.Range(0, words).Select(_ => Words[random.Next(Words.Length)])], seen);
            }

            Assert.True(seen.Count == specifications, $"{command.FullName}: {seen.Count} of {specifications} specifications of keys were met");
        }
    }

    [Fact]
    public void Every_channel_is_checked()
    {
        foreach (Command command in _server.Engine.Commands.All)
        {
            if (command.Channels is not { } channels) continue;
            string[] request = [.. command.FullName.Split('|'), "c1", channels.Last == -1 ? "c2" : "m"];
            Assert.Equal(default, Check(command, request, "&c?", channels.IsPattern ? "&c1" : "&x", channels.IsPattern ? "&c2" : "&y"));
            Assert.Equal(new AccessDenial(DenialReason.Channel, channels.First), Check(command, request, "&c2", "&m"));
            if (channels.Last == -1) Assert.Equal(new AccessDenial(DenialReason.Channel, 2), Check(command, request, "&c1"));
            if (channels.IsPattern) Assert.Equal(DenialReason.Channel, Check(command, request, "&c*").Reason);
        }
    }

    // All commands that Redis counts as publish/subscribe name channels, but for those that end subscriptions or report.
    [Fact]
    public void Publish_subscribe_rows_declare_channel_positions()
    {
        foreach (Command command in _server.Engine.Commands.All)
        {
            if (!command.Is(CommandFlags.PubSub) || command.FullName.Contains("unsubscribe", StringComparison.Ordinal) || command.FullName.StartsWith("pubsub", StringComparison.Ordinal)) continue;
            Assert.True(command.Channels is not null, $"{command.FullName} has no Channels");
        }
    }

    // The short path has a check of its own, which may only pass what the whole check passes. What is denied changes nothing, and its
    // neighbours in the pipeline are executed.
    [Fact]
    public void Every_row_of_the_fast_path_is_checked_in_a_pipeline()
    {
        using RespConnection admin = RespConnection.Connect(_server.Port);
        using RespConnection client = RespConnection.Connect(_server.Port);
        admin.Run("SET neighbor v").IsOk();
        int rows = 0;
        foreach (Command command in _server.Engine.Commands.All)
        {
            if (!command.IsShort && command.OneKeyCount == 0) continue;
            string[] names = command.FullName.Split('|');
            string[] request = [.. names, .. Enumerable.Repeat("1", (command.IsShort ? Math.Abs(command.Arity) : command.OneKeyCount) - names.Length)];
            request[command.FirstKey] = "key:1";
            Assert.Equal(DenialReason.Command, CheckInPipeline(admin, client, command, request, "~*", "-" + command.FullName));
            Assert.Equal(DenialReason.Key, CheckInPipeline(admin, client, command, request, "~neighbor"));
            CheckInPipeline(admin, client, command, request, "~neighbor", "%R~key:1");
            CheckInPipeline(admin, client, command, request, "~neighbor", "%W~key:1");
            Assert.Equal(DenialReason.None, CheckInPipeline(admin, client, command, request, "~neighbor", "~key:1"));
            rows++;
        }

        Assert.InRange(rows, 50, int.MaxValue);
    }

    private DenialReason CheckInPipeline(RespConnection admin, RespConnection client, Command command, string[] request, params string[] rules)
    {
        admin.Run("ACL SETUSER u reset on nopass +@all " + string.Join(' ', rules)).IsOk();
        client.Run("AUTH u x").IsOk();
        byte[] neighbor = CommandLine.Encode(CommandLine.Split(command.Name == "get" ? "STRLEN neighbor" : "GET neighbor"));
        byte[] pipeline = [.. neighbor, .. CommandLine.Encode([.. request.Select(Encoding.Latin1.GetBytes)]), .. neighbor];
        client.Send(pipeline);
        RespValue before = client.Read(), reply = client.Read(), after = client.Read();
        string place = $"{string.Join(' ', request)} under {string.Join(' ', rules)}";
        Assert.True(before.IsInteger || before.Text == "v", $"{place}: {before}");
        Assert.True(after.IsInteger || after.Text == "v", $"{place}: {after}");
        DenialReason expected = Check(command, request, rules).Reason;
        string denied = expected == DenialReason.Command ? $"NOPERM User u has no permissions to run the '{command.FullName}' command" : "NOPERM No permissions to access a key";
        if (expected == DenialReason.None) Assert.False(reply.Text.StartsWith("NOPERM", StringComparison.Ordinal), $"{place}: {reply}");
        else Assert.True(reply.Text == denied, $"{place}: {reply}");
        long changed = admin.Run("DEL key:1").Number;
        if (expected != DenialReason.None) Assert.True(changed == 0, place);
        return expected;
    }

    private void CheckKeys(Command command, string[] request, HashSet<KeySpec> seen)
    {
        List<(int Argument, KeySpec Spec)> keys = KeysOf(command, request);
        for (int i = 0; i < keys.Count; i++) request[keys[i].Argument] = "key:" + i;
        List<(int Argument, KeySpec Spec)> renamed = KeysOf(command, request);
        if (keys.Count == 0 || !renamed.SequenceEqual(keys) || keys.Select(key => key.Argument).Distinct().Count() < keys.Count) return; // a key was a keyword too

        Assert.Equal(default, Check(command, request, "~key:*"));
        for (int i = 0; i < keys.Count; i++)
        {
            string[] others = [.. Enumerable.Range(0, keys.Count).Where(other => other != i).Select(other => "~key:" + other)];
            var denial = new AccessDenial(DenialReason.Key, keys[i].Argument);
            Assert.Equal(denial, Check(command, request, [.. others, "~key"]));
            KeyAccess access = AccessOf(command, request, keys[i].Argument);
            Assert.Equal(access.HasFlag(KeyAccess.Write) ? denial : default, Check(command, request, [.. others, "%R~key:" + i]));
            Assert.Equal(access.HasFlag(KeyAccess.Read) ? denial : default, Check(command, request, [.. others, "%W~key:" + i]));
            seen.Add(keys[i].Spec);
        }
    }

    private AccessDenial Check(Command command, string[] request, params string[] rules)
    {
        UserRules user = _server.Engine.Users.NewRules("u");
        Assert.Null(user.Apply(["+@all", .. rules], out _));
        CommandContext cmd = ContextOf(command, request);
        return user.Compile()!.Check(cmd);
    }

    private List<(int Argument, KeySpec Spec)> KeysOf(Command command, string[] request)
    {
        CommandContext cmd = ContextOf(command, request);
        var keys = new KeyExtraction(command);
        List<(int Argument, KeySpec Spec)> found = [];
        while (keys.MoveNext(cmd)) found.Add((keys.Argument, keys.Spec));
        return keys.HasMisfit ? [] : found;
    }

    private KeyAccess AccessOf(Command command, string[] request, int argument)
    {
        CommandContext cmd = ContextOf(command, request);
        var keys = new KeyExtraction(command);
        while (keys.MoveNext(cmd))
        {
            if (keys.Argument == argument) return KeyAccesses.Of(keys.FlagsOf(cmd));
        }

        throw new InvalidOperationException("The key was there.");
    }

    private CommandContext ContextOf(Command command, string[] request)
    {
        byte[] input = Encoding.Latin1.GetBytes(string.Join(' ', request));
        var slices = new List<ArgumentSlice>();
        int position = 0;
        foreach (string word in request)
        {
            slices.Add(new ArgumentSlice(position, word.Length));
            position += word.Length + 1;
        }

        var cmd = new CommandContext(_executor.Environment, _server.Engine.Clients.Add(null, 0, _server.Engine.Users.InProcess, authenticated: true), input, _executor.Reply, database: 0);
        cmd.Begin(command, slices.ToArray(), 0);
        return cmd;
    }
}
