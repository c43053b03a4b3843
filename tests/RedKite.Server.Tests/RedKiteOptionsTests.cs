using RedKite.Server.Config;
using RedKite.Server.Logging;
using RedKite.TestSupport;

namespace RedKite.Server.Tests;

/// <summary>What a host says with its options.</summary>
public sealed class RedKiteOptionsTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-options-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    [Fact]
    public async Task Port_0_takes_a_free_one_beside_other_ways_in()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["unixsocket"] = Path.Combine(_folder, "s") } }, TestContext.Current.CancellationToken);
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("PING").IsSimple("PONG");
    }

    [Fact]
    public async Task Directive_port_0_beside_other_ways_in_means_none()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["port"] = "0", ["unixsocket"] = Path.Combine(_folder, "s") } }, TestContext.Current.CancellationToken);
        Assert.Equal(0, server.Port);
        await using RedKiteServer alone = await RedKiteServer.StartAsync(new RedKiteOptions { Settings = { ["port"] = "0" } }, TestContext.Current.CancellationToken);
        Assert.NotEqual(0, alone.Port);
    }

    [Fact]
    public async Task Directive_may_have_several_values()
    {
        var options = new RedKiteOptions
        {
            Port = 0,
            Settings = { { "user", "alice on >secret ~* +get" }, { "USER", "bob on nopass ~* +@all" }, { "rename-command", "KEYS \"\"" }, { "rename-command", "FLUSHALL wipe" }, { "maxclients", "77" }, { "maxclients", "88" } },
        };
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        Assert.Equal(["user alice", "user bob", "user default"], server.Execute("ACL", "LIST").Items.Select(line => string.Join(' ', line.Text!.Split(' ')[..2])));
        Assert.StartsWith("ERR unknown command 'KEYS'", server.Execute("KEYS", "*").Text, StringComparison.Ordinal);
        Assert.Equal("OK", server.Execute("wipe").Text);
        Assert.Equal("88", server.Execute("CONFIG", "GET", "maxclients").Items[1].Text); // the last one
    }

    [Fact]
    public async Task Bad_line_is_named()
    {
        RedKiteConfigException failure = await Assert.ThrowsAsync<RedKiteConfigException>(() => RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["nosuch"] = "1" } }, TestContext.Current.CancellationToken));
        Assert.StartsWith("options: nosuch: unknown directive", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task All_faults_are_in_one_message()
    {
        string path = Path.Combine(_folder, "redkite.conf");
        File.WriteAllText(path, "maxmemroy 1gb\nport nosuch\n'open\nuser\n");
        var options = new RedKiteOptions
        {
            ConfigFile = path,
            Port = 70_000,
            Loops = 5_000,
            Persistence = RedKitePersistence.Log,
            Settings = { { "preload-file", "x" }, { "rename-command", "nosuch other" }, { "user", "alice +nosuch" }, { "user", "bob nosuch" } },
        };
        RedKiteConfigException failure = await Assert.ThrowsAsync<RedKiteConfigException>(() => RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken));
        Assert.Equal(string.Join('\n', failure.Faults), failure.Message);
        Assert.Equal(
            [
                "Persistence Log needs a DataDirectory",
                $"{path}:1: maxmemroy: unknown directive; did you mean maxmemory?",
                $"{path}:2: port 'nosuch': expected an integer from 0 to 65535",
                $"{path}:3: unbalanced quotes: a quote must be closed, and followed by a space or the line's end",
                $"{path}:4: user: expected a name and its rules",
                "options: port '70000': expected an integer from 0 to 65535",
                "options: loops '5000': expected an integer from 0 to 1024",
            ],
            failure.Faults.Take(7));
        Assert.Equal(["options: rename-command nosuch other", "options: user 'alice'", "options: user 'bob'", "options: preload-file 'x'"], failure.Faults.Skip(7).Select(fault => string.Join(':', fault.Split(':')[..2])));
    }

    [Fact]
    public async Task Options_that_contradict_each_other_are_refused()
    {
        var options = new RedKiteOptions
        {
            Port = null,
            Password = "",
            DataDirectory = Path.Combine(_folder, "data"),
            LogSync = RedKiteLogSync.Always,
            Eviction = RedKiteEviction.Random,
            Settings = { ["port"] = "0" },
        };
        RedKiteConfigException failure = await Assert.ThrowsAsync<RedKiteConfigException>(() => RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken));
        Assert.Equal(
            [
                "Port is null, which is none, and Settings has 'port'",
                "Password is empty: null is none",
                "DataDirectory needs a Persistence: Log or Snapshots, or None, which loads what is there and keeps nothing",
                "LogSync Always needs the Persistence Log",
                "Eviction Random needs a MaxMemory",
            ],
            failure.Faults);
        Assert.False(Directory.Exists(options.DataDirectory));
    }

    [Fact]
    public async Task What_settings_say_contradicts_nothing()
    {
        var options = new RedKiteOptions
        {
            DataDirectory = _folder,
            LogSync = RedKiteLogSync.Always,
            Eviction = RedKiteEviction.Random,
            Settings = { ["appendonly"] = "yes", ["maxmemory"] = "1000gb", ["port"] = "0" },
        };
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        Assert.NotEqual(0, server.Port);
    }

    [Fact]
    public async Task A_missing_folder_is_created_in_a_folder_that_exists()
    {
        string data = Path.Combine(_folder, "data");
        var options = new RedKiteOptions { DataDirectory = data, Persistence = RedKitePersistence.Log };
        for (int starts = 1; starts <= 2; starts++)
        {
            await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
            Assert.Equal(starts, server.CreateClient().Increment("starts"));
        }

        options.DataDirectory = Path.Combine(_folder, "other", "data");
        RedKiteConfigException failure = await Assert.ThrowsAsync<RedKiteConfigException>(() => RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken));
        Assert.Contains($"there is no folder '{Path.Combine(_folder, "other")}'", failure.Message, StringComparison.Ordinal);
        Assert.False(Directory.Exists(Path.Combine(_folder, "other")));
    }

    [Theory]
    [InlineData("maxmemroy", "maxmemory")]
    [InlineData("max_memory", "maxmemory")]
    [InlineData("maxMemoryPolicy", "maxmemory-policy")]
    [InlineData("pasword", null)]
    [InlineData("requirepas", "requirepass")]
    [InlineData("users", "user")]
    [InlineData("x", null)]
    [InlineData("rename-comand", "rename-command")]
    public void Nearest_directive_is_found(string name, string? nearest) => Assert.Equal(nearest, SettingNames.Nearest(name));

    [Fact]
    public async Task Members_are_directives()
    {
        var options = new RedKiteOptions
        {
            Port = 0,
            UnixSocketPath = Path.Combine(_folder, "s"),
            Password = "with space \"and\" quote",
            MaxMemory = 123_456_789,
            Eviction = RedKiteEviction.LeastFrequentlyUsed,
            Loops = 1,
            Databases = 3,
            ReplicaOf = $"127.0.0.1:{RedKite.TestSupport.LoopbackPort.Next()}",
        };
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        foreach ((string name, string value) in (ReadOnlySpan<(string, string)>)[("unixsocket", options.UnixSocketPath), ("requirepass", options.Password), ("maxmemory", "123456789"), ("maxmemory-policy", "allkeys-lfu"), ("loops", "1"), ("databases", "3"), ("replicaof", options.ReplicaOf.Replace(':', ' '))])
        {
            Assert.Equal(value, server.Execute("CONFIG", "GET", name).Items[1].Text);
        }

        Assert.NotEqual(0, server.Port);
    }

    [Fact]
    public async Task Every_eviction_is_a_policy()
    {
        foreach (RedKiteEviction eviction in Enum.GetValues<RedKiteEviction>())
        {
            await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = null, Loops = 1, MaxMemory = 1L << 40, Eviction = eviction, Settings = { ["diagnostics"] = "no" } }, TestContext.Current.CancellationToken);
            string policy = server.Execute("CONFIG", "GET", "maxmemory-policy").Items[1].Text!;
            Assert.Equal(eviction == RedKiteEviction.None, policy == "noeviction");
            Assert.Equal(eviction.ToString().StartsWith("Expiring", StringComparison.Ordinal), policy.StartsWith("volatile-", StringComparison.Ordinal));
        }
    }

    [Fact]
    public async Task No_port_is_no_way_in()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = null }, TestContext.Current.CancellationToken);
        Assert.Equal(0, server.Port);
        Assert.Empty(server.Sockets);
        Assert.Equal("PONG", server.Execute("PING").Text);
    }

    [Fact]
    public async Task Shutdown_of_a_client_is_refused_unless_the_host_allows_it()
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = null }, TestContext.Current.CancellationToken);
        Assert.StartsWith("ERR SHUTDOWN is not allowed", server.Execute("SHUTDOWN", "NOSAVE").Text, StringComparison.Ordinal);
        Assert.Equal("PONG", server.Execute("PING").Text);
    }

    [Theory]
    [InlineData(RedKitePersistence.Snapshots)]
    [InlineData(RedKitePersistence.Log)]
    public async Task Data_is_left_alone_and_then_replaced_if_the_host_says_so(RedKitePersistence persistence)
    {
        var lines = new List<RedKiteLogEntry>();
        var options = new RedKiteOptions { Port = null, Loops = 1, Persistence = persistence, DataDirectory = _folder, Log = entry => { lock (lines) lines.Add(entry); } };
        Assert.Equal(0, await KeysAfterWriting("old"));
        Assert.Equal(1, await KeysAfterWriting("old"));
        options.LoadOnStart = false;
        Assert.Equal(0, await KeysAfterWriting("new"));
        lock (lines) Assert.Single(lines, line => line is { EventName: "DataNotLoaded", EventId: 415, Category: "RedKite.Persistence", Level: RedKiteLogLevel.Warning });
        options.LoadOnStart = true;
        await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
        Assert.Equal(["new"], server.Execute("KEYS", "*").Items.Select(key => key.Text));

        async Task<long> KeysAfterWriting(string key)
        {
            await using RedKiteServer server = await RedKiteServer.StartAsync(options, TestContext.Current.CancellationToken);
            long keys = server.Execute("DBSIZE").Integer;
            server.Execute("SET", key, "value");
            return keys;
        }
    }

    [Fact]
    public async Task Server_that_never_begins_can_be_stopped_and_loads_until_it_begins()
    {
        RedKiteServer server = RedKiteServer.Create(new RedKiteOptions { Port = null });
        Assert.StartsWith("LOADING", server.Execute("GET", "key").Text, StringComparison.Ordinal);
        await server.DisposeAsync();
        await Assert.ThrowsAsync<ObjectDisposedException>(server.StartAsync);
    }

    [Fact]
    public async Task Server_that_could_not_begin_has_stopped()
    {
        await using RedKiteServer server = RedKiteServer.Create(new RedKiteOptions { Port = null, Loops = -1 });
        await Assert.ThrowsAsync<RedKiteConfigException>(server.StartAsync);
        Assert.True(server.Stopped.IsCompletedSuccessfully);
    }

    [Fact]
    public void Settings_keep_their_order_and_names_are_in_any_case()
    {
        RedKiteSettings settings = new() { { "user", "a" }, { "maxclients", "1" }, { "USER", "b" } };
        Assert.Equal("b", settings["User"]);
        settings["user"] = "c";
        Assert.Equal([("user", "c"), ("maxclients", "1")], settings.Select(line => (line.Key, line.Value)));
        Assert.Throws<KeyNotFoundException>(() => settings["port"]);
        foreach (string bad in (string[])["", "two words", "quo\"te", "#comment"]) Assert.Throws<ArgumentException>(() => settings.Add(bad, "1"));
        Assert.True(settings.Remove("USER"));
        Assert.False(settings.ContainsKey("user"));
    }

    [Fact]
    public void Kinds_of_log_lines_have_numbers_and_names_of_their_own()
    {
        Assert.Equal(LogEvents.All.Count, LogEvents.All.Select(kind => kind.Id).Distinct().Count());
        Assert.Equal(LogEvents.All.Count, LogEvents.All.Select(kind => kind.Name).Distinct().Count());
        Assert.Equal(LogEvents.All.Count, typeof(LogEvents).GetFields(System.Reflection.BindingFlags.Static | System.Reflection.BindingFlags.NonPublic).Count(field => field.FieldType == typeof(LogEvent)));
        string page = File.ReadAllText(Path.Combine(RepositoryRoot.Path, "docs", "hosting.md"));
        Assert.All(LogEvents.All.GroupBy(kind => kind.Category), category => Assert.Contains($"| {category.Key} | {string.Join(", ", category.Select(kind => $"{kind.Id} {kind.Name}"))} |", page, StringComparison.Ordinal));
        Assert.All(LogEvents.All.GroupBy(kind => kind.Id / 100), category => Assert.Single(category.Select(kind => kind.Category).Distinct()));
    }

    [Fact]
    public async Task Log_goes_to_the_file_unless_the_host_receives_it()
    {
        string path = Path.Combine(_folder, "server.log");
        await using (RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["logfile"] = path } }, TestContext.Current.CancellationToken)) server.Engine.Log.Warning(LogEvents.ClientMessage, "to the file");
        Assert.Contains("to the file", File.ReadAllText(path), StringComparison.Ordinal);

        File.Delete(path);
        var lines = new List<string>();
        await using (RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Log = entry => { lock (lines) lines.Add(entry.Message); }, Settings = { ["logfile"] = path } }, TestContext.Current.CancellationToken)) server.Engine.Log.Warning(LogEvents.ClientMessage, "to the host");
        lock (lines)
        {
            Assert.Contains("to the host", lines);
            Assert.Single(lines, line => line.StartsWith("logfile '", StringComparison.Ordinal) && line.EndsWith("is not written, because the host receives the log.", StringComparison.Ordinal));
        }

        Assert.False(File.Exists(path));
    }

    [Theory]
    [InlineData("dir", "/tmp")]
    [InlineData("debug-package-dir", "/tmp")]
    public async Task Folders_that_the_server_writes_to_are_protected(string name, string value)
    {
        await using RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0 }, TestContext.Current.CancellationToken);
        Assert.Equal($"ERR CONFIG SET failed (possibly related to argument '{name}') - can't set protected config", server.Execute("CONFIG", "SET", name, value).Text);
    }
}
