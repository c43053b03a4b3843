using RedKite.TestSupport;

namespace RedKite.Server.Tests.Acl;

/// <summary>Users over sockets: changes for open connections, the file, limits of logins.</summary>
public sealed class UserTests : NetworkTests, IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-acl-").FullName;

    [Theory]
    [MemberData(nameof(Transports))]
    public async Task A_change_reaches_connections_of_every_loop_at_once(string transport)
    {
        await using RedKiteServer server = await StartAsync(transport);
        using RespConnection admin = RespConnection.Connect(server.Port);
        admin.Run("ACL SETUSER u on nopass ~* +@all").IsOk();
        RespConnection[] clients = [.. Enumerable.Range(0, 8).Select(_ => RespConnection.Connect(server.Port))];
        foreach (RespConnection client in clients) client.Run("AUTH u x").IsOk();
        for (int round = 0; round < 50; round++)
        {
            admin.Run("ACL SETUSER u -get").IsOk();
            foreach (RespConnection client in clients) client.Run("GET k").IsError("NOPERM User u has no permissions to run the 'get' command");
            admin.Run("ACL SETUSER u +get resetkeys ~k").IsOk();
            foreach (RespConnection client in clients) client.Run("GET k").IsNull();
            foreach (RespConnection client in clients) client.Run("GET other").IsError("NOPERM No permissions to access a key");
            admin.Run("ACL SETUSER u +@all ~*").IsOk();
            foreach (RespConnection client in clients) client.Run("GET other").IsNull();
        }

        WaitFor(() => server.Engine.Attention.Flags == Model.ServerAttention.None, "every loop to have taken notice");
        admin.Run("ACL DELUSER u").IsInteger(1);
        foreach (RespConnection client in clients)
        {
            client.Run("GET other").IsClosed();
            client.Dispose();
        }
    }

    [Fact]
    public async Task Pipelined_commands_are_checked_one_by_one()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("ACL SETUSER u on nopass ~a* +@all").IsOk();
        client.Run("AUTH u x").IsOk();
        foreach (string line in (string[])["SET a1 v", "SET b1 v", "GET a1", "GET b1", "MGET a1", "MGET b1", "MGET a1 b1", "SET a2 v GET", "SELECT 1", "GET a1"]) client.SendCommand(line);
        client.Read().IsOk();
        client.Read().IsError("NOPERM No permissions to access a key");
        client.Read().IsBulk("v");
        client.Read().IsError("NOPERM No permissions to access a key");
        client.Read().IsArray("v");
        client.Read().IsError("NOPERM No permissions to access a key");
        client.Read().IsError("NOPERM No permissions to access a key");
        client.Read().IsNull();
        client.Read().IsOk();
        client.Read().IsNull();
    }

    [Fact]
    public async Task Log_in_within_a_pipeline_restricts_what_follows()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("ACL SETUSER u on nopass ~a* +get").IsOk();
        foreach (string line in (string[])["GET b", "AUTH u x", "GET b", "GET a", "SET a 1", "RESET", "SET b 1"]) client.SendCommand(line);
        client.Read().IsNull();
        client.Read().IsOk();
        client.Read().IsError("NOPERM No permissions to access a key");
        client.Read().IsNull();
        client.Read().IsError("NOPERM User u has no permissions to run the 'set' command");
        client.Read().IsSimple("RESET");
        client.Read().IsOk();
    }

    [Theory]
    [InlineData("ACL SETUSER u -get", "ERR ACL failure in script: User u has no permissions to run the 'get' command")]
    [InlineData("ACL SETUSER u resetkeys", "ERR ACL failure in script: No permissions to access a key")]
    [InlineData("ACL DELUSER u", "ERR ACL failure in script: User u has no permissions to run the 'get' command")]
    public async Task Running_script_loses_revoked_permissions(string change, string denial)
    {
        await using RedKiteServer server = await StartAsync("auto", ("loops", "2"));
        server.Execute("ACL", "SETUSER", "u", "on", "nopass", "~*", "+@all");
        using RespConnection client = RespConnection.Connect(server.Port);
        client.Run("AUTH u x").IsOk();
        client.Run("SET k v").IsOk();

        // The script ends when it is denied.
        client.SendCommand("EVAL \"for i = 1, 100000000 do local got = redis.pcall('get', KEYS[1]) if type(got) == 'table' then return got end end return 'never denied'\" 1 k");
        WaitFor(() => IsScriptRunning(server), "the script to run");
        server.Execute(change.Split(' '));
        RespValue reply = client.Read();
        if (!reply.IsClosed) reply.IsError(denial); // the connection of a deleted user may be closed before or after
        else Assert.Equal("ACL DELUSER u", change);
        if (change == "ACL DELUSER u") client.Run("PING").IsClosed();
        Assert.Equal("OK", server.Execute("SET", "k", "w").Text);
    }

    // Permissions are checked before the mutex is entered.
    private static bool IsScriptRunning(RedKiteServer server)
    {
        if (!server.Engine.Keyspace.Scripts.TryEnter()) return true;
        server.Engine.Keyspace.Scripts.Exit();
        return false;
    }

    [Fact]
    public async Task File_is_loaded_saved_and_replaced_as_a_whole()
    {
        string path = Path.Combine(_folder, "users.acl");
        await File.WriteAllTextAsync(path, "user a on nopass +get ~x\n\nuser default on >q ~* &* +@all\n", TestContext.Current.CancellationToken);
        await using RedKiteServer server = await StartAsync("auto", ("aclfile", path));
        using RespConnection admin = RespConnection.Connect(server.Port);
        admin.Run("PING").IsError("NOAUTH Authentication required.");
        admin.Run("AUTH q").IsOk();
        using RespConnection a = RespConnection.Connect(server.Port);
        a.Run("AUTH a any").IsOk();
        admin.Run("ACL SETUSER b on >secret (%R~y +get)").IsOk();
        admin.Run("ACL SAVE").IsOk();
        string[] saved = await File.ReadAllLinesAsync(path, TestContext.Current.CancellationToken);
        Assert.Equal(admin.Run("ACL LIST").Items.Select(line => line.Text), saved);

        await File.WriteAllTextAsync(path, "user c on\nuser d on +nope\nfoo\nuser c off\nuser e (+get\n", TestContext.Current.CancellationToken);
        admin.Run("ACL LOAD").IsError($"ERR {path}:2: Error in applying operation '+nope': Unknown command or category name in ACL. {path}:3 should start with user keyword followed by the username. WARNING: Duplicate user 'c' found on line 4. {path}:5: Unmatched parentheses in selector definition. WARNING: ACL errors detected, no change to the previously active ACL rules was performed");
        Assert.Equal(saved, admin.Run("ACL LIST").Items.Select(line => line.Text));

        // Users that stay keep their connections, with the new rules; those of users that are gone are closed.
        await File.WriteAllTextAsync(path, "user a on nopass +set ~x\nuser default on nopass ~* &* +@all\n", TestContext.Current.CancellationToken);
        using RespConnection b = RespConnection.Connect(server.Port);
        b.Run("AUTH b secret").IsOk();
        admin.Run("ACL LOAD").IsOk();
        a.Run("GET x").IsError("NOPERM User a has no permissions to run the 'get' command");
        a.Run("SET x 1").IsOk();
        b.Run("PING").IsClosed();
        admin.Run("ACL USERS").IsArray("a", "default");
    }

    [Theory]
    [InlineData("user a on +nope\n", "Error in applying operation '+nope': Unknown command or category name in ACL.")]
    [InlineData("foo\n", ":1 should start with user keyword followed by the username.")]
    [InlineData("user a\nuser a\n", "Duplicate user 'a' found on line 2.")]
    public async Task A_wrong_file_ends_the_start(string text, string message)
    {
        string path = Path.Combine(_folder, "users.acl");
        await File.WriteAllTextAsync(path, text, TestContext.Current.CancellationToken);
        var failure = await Assert.ThrowsAsync<RedKiteConfigException>(() => StartAsync("auto", ("aclfile", path)));
        Assert.Contains(message, failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Users_of_the_configuration_file_survive_a_rewrite()
    {
        string path = Path.Combine(_folder, "redkite.conf");
        await File.WriteAllTextAsync(path, "port 0\nloops 1\nuser a on nopass +get '~\"x'\nuser gone off\nrequirepass pw\n", TestContext.Current.CancellationToken);
        string?[] users;
        await using (RedKiteServer server = await RedKiteServer.StartAsync(new RedKiteOptions { ConfigFile = path }, TestContext.Current.CancellationToken))
        {
            server.Execute("ACL", "SETUSER", "b", "on", ">p", "(%W~k:* +@write -del)", "&c\\");
            server.Execute("ACL", "DELUSER", "gone");
            Assert.Equal("OK", server.Execute("CONFIG", "REWRITE").Text);
            users = [.. server.Execute("ACL", "LIST").Items.Select(line => line.Text)];
            Assert.Contains("user a on nopass sanitize-payload ~\"x resetchannels -@all +get", users);
        }

        await using RedKiteServer again = await RedKiteServer.StartAsync(new RedKiteOptions { ConfigFile = path }, TestContext.Current.CancellationToken);
        Assert.Equal(users, again.Execute("ACL", "LIST").Items.Select(line => line.Text));
    }

    [Fact]
    public async Task Failed_log_ins_of_an_address_are_limited()
    {
        var clock = new ManualClock();
        await using RedKiteServer server = await StartAsync("auto", clock, ("failed-logins-per-minute", "3"), ("requirepass", "right"));
        for (int i = 0; i < 3; i++)
        {
            using RespConnection client = RespConnection.Connect(server.Port);
            client.Run("AUTH wrong").IsError("WRONGPASS invalid username-password pair or user is disabled.");
        }

        using RespConnection limited = RespConnection.Connect(server.Port);
        limited.Run("AUTH right").IsError("ERR Too many failed logins from this address. Try again in a minute.");
        limited.Run("HELLO 3 AUTH default right").IsError("ERR Too many failed logins from this address. Try again in a minute.");
        Assert.Equal(2, server.Engine.Users.FailedLogins.Refused);
        clock.Advance(60_000);
        WaitFor(() => limited.Run("AUTH right").Marker == '+', "the minute to end");
    }

    [Fact]
    public async Task In_process_callers_are_trusted_until_they_log_in()
    {
        await using RedKiteServer server = await StartAsync("auto");
        using RedKiteSession client = server.CreateSession();
        client.Execute("ACL", "SETUSER", "default", "-@all");
        client.Execute("ACL", "SETUSER", "u", "on", "nopass", "+ping");
        Assert.Equal("PONG", client.Execute("PING").Text);
        Assert.Equal("OK", client.Execute("AUTH", "u", "x").Text);
        Assert.Equal("NOPERM User u has no permissions to run the 'acl|whoami' command", client.Execute("ACL", "WHOAMI").Text);
        server.Execute("ACL", "SETUSER", "u", "-ping");
        Assert.True(client.Execute("PING").IsError);
        server.Execute("ACL", "DELUSER", "u");
        Assert.True(client.Execute("AUTH", "default", "x").IsError is false);
    }

    // Each word is compared with all rules before it, and all are text meanwhile.
    [Fact]
    public async Task Words_beyond_what_a_user_may_have_are_not_read()
    {
        await using RedKiteServer server = await StartAsync("auto");
        server.Execute("CONFIG", "SET", "max-acl-rules-per-user", "16", "max-acl-rule-bytes-per-user", "1024");
        Assert.Equal("OK", server.Execute(["ACL", "SETUSER", "u", .. Enumerable.Repeat("~a", 1040)]).Text); // one rule
        Assert.Equal("ERR too many rules, max-acl-rules-per-user is 16", server.Execute(["ACL", "SETUSER", "u", .. Enumerable.Repeat("~a", 1041)]).Text);
        Assert.Equal("OK", server.Execute("ACL", "SETUSER", "u", ">" + new string('p', (1 << 20) - 1)).Text); // a password is kept as its hash
        Assert.Equal("ERR the user's name and rules are too long, max-acl-rule-bytes-per-user is 1024", server.Execute("ACL", "SETUSER", "u", ">" + new string('p', 600_000), ">" + new string('q', 600_000)).Text);
        Assert.Equal("ERR a user's name or rule has more than 1048576 bytes", server.Execute("ACL", "SETUSER", "u", ">" + new string('p', 1 << 20)).Text);
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);
}
