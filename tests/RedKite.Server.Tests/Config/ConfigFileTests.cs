using System.Text;
using RedKite.Server.Config;

namespace RedKite.Server.Tests.Config;

public sealed class ConfigFileTests : IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-config-").FullName;

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    // Compares the whole reply to CONFIG GET *, so each line is also checked for side effects.
    [Theory]
    [InlineData("timeout 5")]
    [InlineData("  TimeOut\t 5  \r")]
    [InlineData("timeout \"5\"")]
    [InlineData("timeout '5'")]
    [InlineData("\"timeout\" 5")]
    [InlineData("# timeout 5")]
    [InlineData("requirepass \"a b\\x41\\n\\\"\\q\"")]
    [InlineData("requirepass 'it\\'s \\n'")]
    [InlineData("requirepass a\"b c\"")]
    [InlineData("requirepass \xff\xfe\xe9")]
    [InlineData("requirepass \"\\xff\\x00\\xfg\"")]
    [InlineData("requirepass #a")]
    [InlineData("masteruser \"\"")]
    [InlineData("save 60 1")]
    [InlineData("save 60 1\nsave 30 2")]
    [InlineData("save \"60 1 30 2\"")]
    [InlineData("save 60 1 30 2")]
    [InlineData("save \"\"")]
    [InlineData("save 60 1\nsave \"\"\nsave 5 5")]
    [InlineData("save \"\"\nsave \"\"")]
    [InlineData("client-output-buffer-limit replica 1mb 2mb 3\nclient-output-buffer-limit normal 5 6 7")]
    [InlineData("client-output-buffer-limit \"normal 1 2 3\"")]
    [InlineData("maxmemory 1GB")]
    [InlineData("maxmemory-clients 5%")]
    [InlineData("unixsocketperm 0700")]
    [InlineData("databases 3\nio-threads 2\nenable-protected-configs local\nenable-debug-command yes")]
    [InlineData("slaveof no one")]
    [InlineData("hash-max-ziplist-entries 3")]
    [InlineData("list-max-ziplist-entries 3")]
    [InlineData("lua-replicate-commands yes")]
    [InlineData("io-threads-do-reads yes")]
    [InlineData("user default on nopass sanitize-payload ~* &* +@all")]
    [InlineData("loglevel nothing")]
    [InlineData("oom-score-adj-values 1 2 3")]
    [InlineData("shutdown-on-sigterm save now")]
    [InlineData("latency-tracking-info-percentiles 1 2.5")]
    [InlineData("latency-tracking-info-percentiles \"\"")]
    [InlineData("notify-keyspace-events KExm")]
    [InlineData("hz 1000\ndynamic-hz NO")]
    [InlineData("rename-command GET HOLE\nrename-command SET \"\"")]
    [InlineData("include inner-*.conf.none")]
    [InlineData("proc-title-template \"{title} {port}\"")]
    [InlineData("timeout 5\n\n\n\nhz 20\n")]
    public void Lines_have_the_same_effect_as_in_redis(string lines)
    {
        string path = WriteFile("redis.conf", lines);
        Configuration configuration = Load(path);
        using Oracle oracle = new(path); // the connection is used at once: some lines limit how long it may be idle

        // The line may have set a password that the connection would need.
        string password = configuration.Settings.RequirePass;
        if (password.Length > 0) Assert.Equal("OK", oracle.RunText("AUTH", password));

        List<string> expected = [.. oracle.RunList("CONFIG", "GET", "*").Chunk(2).Where(pair => pair[0] is not ("port" or "bind" or "dir" or "logfile") && (pair[0] != "save" || lines.StartsWith("save", StringComparison.Ordinal))).Select(pair => $"{pair[0]}={pair[1]}")];
        List<string> actual = expected.ConvertAll(pair => pair[..pair.IndexOf('=')]).ConvertAll(name => $"{name}={configuration.Get(name)}");
        Assert.Equal(expected.Order(), actual.Order());
    }

    [Theory]
    [InlineData("timeout 5 # seconds", "redis.conf:1: timeout '5' '#' 'seconds': expected one value")]
    [InlineData("timeout", "redis.conf:1: timeout: expected one value")]
    [InlineData("\n\nmaxclients abc", "redis.conf:3: maxclients 'abc': expected an integer from 1 to 4294967295")]
    [InlineData("maxmemory 1.5gb", "redis.conf:1: maxmemory '1.5gb': expected a size from 0 to 18446744073709551615 bytes, with b, k, kb, m, mb, g or gb")]
    [InlineData("appendonly maybe", "redis.conf:1: appendonly 'maybe': expected yes or no")]
    [InlineData("stripes 48", "redis.conf:1: stripes '48': expected one of auto, 1, 2, 4, 8, 16, 32, 64")]
    [InlineData("loglevel loud", "redis.conf:1: loglevel 'loud': expected one of debug, verbose, notice, warning, nothing")]
    [InlineData("unixsocketperm 888", "redis.conf:1: unixsocketperm '888': expected an octal number from 0 to 777")]
    [InlineData("save 60", "redis.conf:1: save '60': Invalid save parameters")]
    [InlineData("timeout \"5", "redis.conf:1: unbalanced quotes: a quote must be closed, and followed by a space or the line's end")]
    [InlineData("timeout \"5\"6", "redis.conf:1: unbalanced quotes: a quote must be closed, and followed by a space or the line's end")]
    [InlineData("dir /does/not/exist", "redis.conf:1: dir '/does/not/exist': No such file or directory")]
    [InlineData("no-such \x01thing", "redis.conf:1: no-such: unknown directive")]
    [InlineData("requirepass secret more", "redis.conf:1: requirepass: expected one value")]
    [InlineData("replicaof a 99999", "redis.conf:1: replicaof 'a' '99999': Invalid master port")]
    [InlineData("appenddirname a/b", "redis.conf:1: appenddirname 'a/b': appenddirname can't be a path, just a dirname")]
    [InlineData("appendfilename \"\"", "redis.conf:1: appendfilename '': appendfilename can't be empty")]
    [InlineData("rename-command GET", "redis.conf:1: rename-command: expected a command and its new name (\"\" removes the command)")]
    [InlineData("timeout '\\n'", "redis.conf:1: timeout '\\\\n': expected an integer from 0 to 2147483647")]
    [InlineData("include none.conf", "redis.conf:1: can't open the configuration file 'none.conf': no such file")]
    public void Lines_refused_by_redis_are_refused_and_named(string lines, string message)
    {
        string path = WriteFile("redis.conf", lines);

        string refusal = Oracle.Refusal(path);
        Assert.True(refusal.Contains("FATAL CONFIG FILE ERROR", StringComparison.Ordinal) || refusal.Contains("Fatal error", StringComparison.Ordinal) || refusal.Contains("Unresolved Configuration(s) Detected", StringComparison.Ordinal), refusal);

        RedKiteConfigException exception = Assert.Throws<RedKiteConfigException>(() => Load(path));
        Assert.Equal(message, exception.Message.Replace(path, "redis.conf", StringComparison.Ordinal));
    }

    [Fact]
    public void Modules_are_refused_in_one_line()
    {
        string path = WriteFile("redis.conf", "loadmodule /x.so");
        Assert.Equal($"{path}:1: loadmodule: modules are not supported", Assert.Throws<RedKiteConfigException>(() => Load(path)).Message);
    }

    [Fact]
    public void Missing_file_is_named()
    {
        string path = Path.Combine(_folder, "none.conf");
        Assert.Equal($"can't open the configuration file '{path}': no such file", Assert.Throws<RedKiteConfigException>(() => Load(path)).Message);
    }

    [Fact]
    public void Includes_apply_in_place_and_wildcards_are_sorted()
    {
        WriteFile("b.part", "hz 30\ntimeout 3");
        WriteFile("a.part", "hz 20\nmaxclients 77");
        WriteFile(".c.part", "hz 90");
        string path = WriteFile("redis.conf", $"timeout 1\ninclude {_folder}/*.part\nmaxclients 78");

        Settings settings = Load(path).Settings;

        Assert.Equal((30, 3, 78), (settings.Hz, settings.TimeoutSeconds, settings.MaxClients));
    }

    [Fact]
    public void Circular_includes_are_an_error()
    {
        string path = Path.Combine(_folder, "redis.conf");
        WriteFile("redis.conf", $"include {path}");
        Assert.Contains("more than 16 deep", Assert.Throws<RedKiteConfigException>(() => Load(path)).Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Renamed_commands_are_kept_with_their_line()
    {
        string path = WriteFile("redis.conf", "rename-command GET HOLE");
        Assert.Equal([new RenamedCommand("GET", "HOLE", path + ":1")], Load(path).RenamedCommands);
    }

    [Fact]
    public void Users_are_kept_with_their_line()
    {
        string path = WriteFile("redis.conf", "user alice on (+get ~x)\nuser default off");
        Assert.Equal([("alice", "on (+get ~x)", path + ":1"), ("default", "off", path + ":2")], Load(path).DeclaredUsers.Select(user => (user.Name, string.Join(' ', user.Rules), user.Where)));
    }

    [Fact]
    public void Standard_input_and_arguments_follow_the_file()
    {
        string path = WriteFile("redis.conf", "timeout 1\nhz 20\nmaxclients 3");
        Configuration configuration = new(new Settings());
        using MemoryStream input = new("timeout 2\nhz 30\n"u8.ToArray());

        ConfigFile.Load(configuration, CommandLine.Parse([path, "--timeout", "4", "-"]), input);

        Assert.Equal((4, 30, 3L), (configuration.Settings.TimeoutSeconds, configuration.Settings.Hz, configuration.Settings.MaxClients));
    }

    private static Configuration Load(string path)
    {
        Configuration configuration = new(new Settings());
        ConfigFile.Load(configuration, CommandLine.Parse([path]), Stream.Null);
        return configuration;
    }

    private string WriteFile(string name, string text)
    {
        string path = Path.Combine(_folder, name);
        File.WriteAllBytes(path, Encoding.Latin1.GetBytes(text));
        return path;
    }
}
