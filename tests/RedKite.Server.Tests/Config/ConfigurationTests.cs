using RedKite.Server.Config;

namespace RedKite.Server.Tests.Config;

public class ConfigurationTests
{
    private readonly Settings _settings = new();
    private readonly Configuration _configuration;

    public ConfigurationTests() => _configuration = new Configuration(_settings);

    [Fact]
    public void Typed_properties_and_config_get_follow_config_set()
    {
        Assert.Null(Set("client-output-buffer-limit", "replica 1mb 2mb 3"));
        Assert.Equal(new ClientOutputBufferLimit(1 << 20, 2 << 20, 3), _settings.ReplicaClientLimit);

        _settings.Port = 1234;
        Assert.Equal("1234", _configuration.Get("port"));
    }

    [Fact]
    public void Every_setting_reads_back()
    {
        foreach (Setting row in SettingTable.Rows)
        {
            string text = row.Read(_settings);
            row.Write(_settings, text);
            Assert.Equal(text, row.Read(_settings));
            Assert.Equal(row.DefaultText == "." ? Environment.CurrentDirectory : row.DefaultText, text);
        }
    }

    [Fact]
    public void Every_setting_works_or_states_why_not()
    {
        foreach (Setting row in SettingTable.Rows)
        {
            bool isExplained = row.NoEffect is not null || row.Refusal is not null || row.Remark is not null;
            Assert.True(row.IsTyped || isExplained, $"{row.Name} is ignored silently");
            Assert.False(row.IsTyped && row.NoEffect is not null, $"{row.Name} has a property, but no effect");
            foreach (string? reason in new[] { row.NoEffect, row.Refusal?.Reason })
            {
                Assert.False(reason is not null && (reason.EndsWith('.') || reason.Contains('\n', StringComparison.Ordinal)), $"{row.Name}: a reason is a clause on one line");
            }
        }
    }

    [Theory]
    [InlineData("preload-file x", "preload-file 'x': the server would begin without that data; copy the files of a backup into the folder `appenddirname` instead")]
    public void Dangerous_settings_are_refused_at_the_start_in_one_line(string lines, string message)
    {
        Load(lines);
        Assert.Equal("arguments: " + message, Assert.Throws<RedKiteConfigException>(_configuration.CheckAtStart).Message);
    }

    [Theory]
    [InlineData("save \"\"|appendonly no|notify-keyspace-events \"\"|aclfile \"\"|tls-port 0|replicaof no one|cluster-enabled no|io-threads 1")]
    [InlineData("save 60 1|save \"\"")]
    [InlineData("appendonly yes|appendonly no")]
    [InlineData("maxmemory-policy allkeys-lfu")]
    [InlineData("shutdown-on-sigterm nosave|shutdown-on-sigterm default")]
    public void Harmless_settings_start_silently(string lines)
    {
        List<string> warnings = [];
        _configuration.Warned += warnings.Add;
        Load(lines);

        _configuration.CheckAtStart();

        Assert.Empty(warnings);
    }

    [Fact]
    public void Settings_without_effect_are_warnings_at_the_start_and_when_they_change()
    {
        List<string> warnings = [];
        _configuration.Warned += warnings.Add;
        Load("io-threads 4|rdb-del-sync-files yes|timeout 5|maxmemory 1gb|maxmemory-policy allkeys-lru|activerehashing yes");

        _configuration.CheckAtStart();
        Assert.Equal(
        [
            "arguments: io-threads '4': no effect: every event loop reads, executes and writes; loops sets their number",
            "arguments: rdb-del-sync-files 'yes': no effect: the file that a full synchronization is received in never stays",
        ], warnings);

        warnings.Clear();
        Assert.Null(Set("activerehashing", "no"));
        Assert.Null(Set("activerehashing", "no"));
        Assert.Null(Set("activerehashing", "yes"));
        Assert.Equal(
        [
            "CONFIG SET activerehashing 'no': no effect: tables grow by one segment at a time, in the command that fills it",
        ], warnings);
    }

    [Fact]
    public void Several_servers_share_nothing()
    {
        Set("timeout", "9");
        Set("repl-timeout", "99");
        Configuration other = new(new Settings());
        Assert.Equal("0", other.Get("timeout"));
        Assert.Equal("60", other.Get("repl-timeout"));
    }

    [Fact]
    public void Handler_runs_once_after_all_values_changed()
    {
        List<string> seen = [];
        _configuration.OnChange("timeout", () => Note($"{_settings.TimeoutSeconds} {_settings.Hz}"));

        Assert.Null(Set("timeout", "0"));
        Assert.Null(_configuration.Set([new("timeout", "5"), new("hz", "50")]));
        Assert.NotNull(_configuration.Set([new("timeout", "6"), new("hz", "x")]));

        Assert.Equal(["5 50"], seen);

        string? Note(string values)
        {
            seen.Add(values);
            return null;
        }
    }

    [Fact]
    public void Failing_handler_rolls_everything_back()
    {
        List<int> timeouts = [];
        _configuration.OnChange("timeout", () =>
        {
            timeouts.Add(_settings.TimeoutSeconds);
            return null;
        });
        _configuration.OnChange("port", () => _settings.Port == 7 ? "Unable to listen on this port. Check server logs." : null);

        string? error = _configuration.Set([new("timeout", "5"), new("port", "7")]);

        Assert.Equal("CONFIG SET failed (possibly related to argument 'port') - Unable to listen on this port. Check server logs.", error);
        Assert.Equal((0, 6379), (_settings.TimeoutSeconds, _settings.Port));
        Assert.Equal([5, 0], timeouts);
    }

    [Fact]
    public void Protected_settings_follow_enable_protected_configs()
    {
        Assert.Equal("CONFIG SET failed (possibly related to argument 'dbfilename') - can't set protected config", Set("dbfilename", "x"));

        _settings.EnableProtectedConfigs = ProtectedAccess.Local;
        Assert.NotNull(Set("dbfilename", "x"));
        Assert.Null(_configuration.Set([new("dbfilename", "x")], callerIsLocal: true));

        _settings.EnableProtectedConfigs = ProtectedAccess.Yes;
        Assert.Null(Set("dbfilename", "y"));
        Assert.Equal("CONFIG SET failed (possibly related to argument 'dir') - No such file or directory", Set("dir", "/no/such"));
    }

    private void Load(string lines) =>
        ConfigFile.Load(_configuration, CommandLine.Parse([.. lines.Split('|').Select(line => "--" + line)]), Stream.Null);

    private string? Set(string name, string value) => _configuration.Set([new(name, value)]);
}
