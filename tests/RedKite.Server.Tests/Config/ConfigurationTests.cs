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

    private string? Set(string name, string value) => _configuration.Set([new(name, value)]);
}
