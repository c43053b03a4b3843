using RedKite.Server.Config;

namespace RedKite.Server.Tests.Config;

public class CommandLineTests
{
    // (arguments joined by '|') to (file, lines joined by '|'); verified with redis-server.
    [Theory]
    [InlineData("", null, "")]
    [InlineData("redis.conf", "redis.conf", "")]
    [InlineData("--port|1", null, "port \"1\"")]
    [InlineData("r.conf|--port|1|--timeout|2", "r.conf", "port \"1\"|timeout \"2\"")]
    [InlineData("--client-output-buffer-limit|normal|1|2|3", null, "client-output-buffer-limit \"normal\" \"1\" \"2\" \"3\"")]
    [InlineData("--requirepass|--secret|--port|1", null, "requirepass \"--secret\"|port \"1\"")]
    [InlineData("--port 6380|--hz 20", null, "port 6380|hz 20")]
    [InlineData("--save|--port|1", null, "save \"\"|port \"1\"")]
    [InlineData("--port|1|--save", null, "port \"1\"|save \"\"")]
    [InlineData("--save||--port|1", null, "save \"\"|port \"1\"")]
    [InlineData("--port=1", null, "port=1")]
    [InlineData("--requirepass|p\u00e9", null, "requirepass \"p\\xc3\\xa9\"")]
    public void Directives_become_lines(string arguments, string? file, string lines)
    {
        CommandLine parsed = CommandLine.Parse(arguments.Length == 0 ? [] : arguments.Split('|'));

        Assert.Equal(file, parsed.FilePath);
        Assert.Equal(lines, string.Join('|', parsed.Lines));
        Assert.False(parsed.ReadsStandardInput || parsed.AsksForHelp || parsed.AsksForVersion);
    }

    [Fact]
    public void Dash_first_or_last_reads_standard_input()
    {
        Assert.True(CommandLine.Parse(["-"]).ReadsStandardInput);
        Assert.True(CommandLine.Parse(["-", "--port", "1"]).ReadsStandardInput);
        Assert.True(CommandLine.Parse(["x.conf", "--port", "1", "-"]).ReadsStandardInput);
        Assert.False(CommandLine.Parse(["--requirepass", "-", "--port", "1"]).ReadsStandardInput);
    }

    [Fact]
    public void Version_and_help_are_recognized()
    {
        Assert.True(CommandLine.Parse(["-v"]).AsksForVersion);
        Assert.True(CommandLine.Parse(["--version", "--port", "1"]).AsksForVersion);
        Assert.True(CommandLine.Parse(["-h"]).AsksForHelp);
        Assert.True(CommandLine.Parse(["--help"]).AsksForHelp);
    }

    [Fact]
    public void Arguments_have_the_same_effect_as_in_redis()
    {
        string[] arguments = ["--requirepass", "--a b\"\\", "--save", "--timeout 7", "--client-output-buffer-limit", "normal", "1kb", "2", "3"];
        Configuration configuration = new(new Settings());
        ConfigFile.Load(configuration, CommandLine.Parse(arguments), Stream.Null);

        using Oracle oracle = new(arguments);
        Assert.Equal("OK", oracle.RunText("AUTH", configuration.Settings.RequirePass));
        foreach (string name in new[] { "requirepass", "save", "timeout", "client-output-buffer-limit" })
        {
            Assert.Equal(oracle.RunList("CONFIG", "GET", name)[1], configuration.Get(name));
        }
    }

    [Fact]
    public void Invalid_argument_is_one_line_that_names_it()
    {
        RedKiteConfigException exception = Assert.Throws<RedKiteConfigException>(
            () => ConfigFile.Load(new Configuration(new Settings()), CommandLine.Parse(["--maxclients", "a\nb"]), Stream.Null));
        Assert.Equal(@"arguments: maxclients 'a\nb': expected an integer from 1 to 4294967295", exception.Message);
    }
}
