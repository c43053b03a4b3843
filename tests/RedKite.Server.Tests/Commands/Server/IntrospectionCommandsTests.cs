using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class IntrospectionCommandsTests : IAsyncLifetime
{
    private RedKiteServer _server = null!;
    private RespConnection _connection = null!;

    public async ValueTask InitializeAsync()
    {
        _server = await RedKiteServer.StartAsync(new RedKiteOptions { Port = 0, Settings = { ["loops"] = "1" } });
        _connection = RespConnection.Connect(_server.Port);
    }

    public async ValueTask DisposeAsync()
    {
        _connection.Dispose();
        await _server.DisposeAsync();
    }

    [Fact]
    public void Info_has_arity_flags_keys_and_categories()
    {
        Assert.Equal(
            "*[*[$get :2 *[+readonly +fast] :1 :1 :1 *[+@read +@string +@fast] *[] "
            + "*[*[$flags *[+RO +access] $begin_search *[$type $index $spec *[$index :1]] $find_keys *[$type $range $spec *[$lastkey :0 $keystep :1 $limit :0]]]] *[]]]",
            Run("COMMAND INFO GET").ToString());
    }

    [Fact]
    public void Info_of_an_unknown_command_is_null()
    {
        Assert.Equal("*[$(null) $(null) $(null) $(null) $(null)]", Run("COMMAND INFO nosuch command| |count command|count|x get|x").ToString());
    }

    [Fact]
    public void Info_finds_a_subcommand_in_any_case()
    {
        Assert.Equal("command|count", Run("COMMAND INFO Command|Count").Items[0].Items[0].Text);
    }

    [Fact]
    public void Command_count_matches_command_info()
    {
        int count = Run("COMMAND").Items.Count;
        Run("COMMAND COUNT").IsInteger(count);
        Assert.Equal(count, Run("COMMAND INFO").Items.Count);
        Assert.Equal(count * 2, Run("COMMAND DOCS").Items.Count);
        Assert.Equal(count, Run("COMMAND LIST").Items.Count(name => !name.Text.Contains('|', StringComparison.Ordinal)));
    }

    [Fact]
    public void Docs_omit_unknown_commands()
    {
        Assert.Equal("*[]", Run("COMMAND DOCS nosuch").ToString());
        RespValue docs = Run("COMMAND DOCS nosuch GET");
        Assert.Equal(2, docs.Items.Count);
        Assert.Equal("*[*[$name $key $type $key $display_text $key $key_spec_index :0]]", docs["get"]!["arguments"]!.ToString());
    }

    [Fact]
    public void Container_docs_include_subcommands()
    {
        Assert.Equal("server", Run("COMMAND DOCS COMMAND")["command"]!["subcommands"]!["command|count"]!["group"]!.Text);
    }

    [Fact]
    public void List_filters_by_pattern_category_and_module()
    {
        Run("COMMAND LIST FILTERBY PATTERN COMMAND|GETK*").IsArray("command|getkeys", "command|getkeysandflags");
        Run("COMMAND LIST filterby pattern g?t").IsArray("get");
        Assert.Contains("get", Run("COMMAND LIST FILTERBY ACLCAT String").Items.Select(name => name.Text));
        Run("COMMAND LIST FILTERBY ACLCAT nosuch").IsArray();
        Run("COMMAND LIST FILTERBY ACLCAT @string").IsArray();
        Run("COMMAND LIST FILTERBY MODULE nosuch").IsArray();
        Run("COMMAND LIST FILTERBY other x").IsError("ERR syntax error");
        Run("COMMAND LIST FILTERBY").IsError("ERR syntax error");
        Run("COMMAND LIST FILTERBY PATTERN").IsError("ERR syntax error");
        Run("COMMAND LIST FILTERBY PATTERN a b").IsError("ERR syntax error");
    }

    [Fact]
    public void Getkeys_finds_the_keys_of_a_request()
    {
        Run("COMMAND GETKEYS GET k").IsArray("k");
        Run("COMMAND GETKEYS set k v EX 10").IsArray("k");
        Run("COMMAND GETKEYS nosuch a").IsError("ERR Invalid command specified");
        Run("COMMAND GETKEYS COMMAND nosuch").IsError("ERR Invalid command specified");
        Run("COMMAND GETKEYS COMMAND COUNT").IsError("ERR The command has no key arguments");
        Run("COMMAND GETKEYS GET a b").IsError("ERR Invalid number of arguments specified for command");
        Run("COMMAND GETKEYS GET").IsError("ERR Invalid number of arguments specified for command");
        Run("COMMAND GETKEYS ZUNION 2 a").IsError("ERR Invalid arguments specified for command");
        Run("COMMAND GETKEYS").IsError("ERR wrong number of arguments for 'command|getkeys' command");
    }

    [Fact]
    public void Getkeysandflags_describes_the_access_to_each_key()
    {
        Assert.Equal("*[*[$k *[+RO +access]]]", Run("COMMAND GETKEYSANDFLAGS GET k").ToString());
        Assert.Equal("*[*[$k *[+OW +update]]]", Run("COMMAND GETKEYSANDFLAGS SET k v NX").ToString());
        Assert.Equal("*[*[$k *[+RW +access +update]]]", Run("COMMAND GETKEYSANDFLAGS SET k v NX get").ToString());
    }

    [Fact]
    public void Help_lists_every_subcommand()
    {
        string help = string.Join('\n', Run("COMMAND HELP").Items.Select(line => line.Text));
        foreach (string name in (string[])["COUNT", "LIST", "INFO", "DOCS", "GETKEYS", "GETKEYSANDFLAGS", "HELP"]) Assert.Contains("\n" + name, help, StringComparison.Ordinal);
        Run("COMMAND nosuch").IsError("ERR unknown subcommand 'nosuch'. Try COMMAND HELP.");
    }

    private RespValue Run(string line) => _connection.Run(line);
}
