using RedKite.Differential.Tests.Streams;
using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>A password set at the start: the commands allowed without it, and the ways to authenticate.</summary>
public sealed class AuthenticationTests(AuthenticationTests.Servers servers) : IClassFixture<AuthenticationTests.Servers>
{
    [Fact]
    public void Unauthenticated_commands_are_refused()
    {
        using PairedConnection connection = new(servers.Pair);
        connection.Run("PING").IsError("NOAUTH Authentication required.");
        connection.Run("GET k");
        connection.Run("NOSUCH a b");
        connection.Run("GET");
        connection.Run("COMMAND COUNT");
        connection.Run("CLIENT ID");
        connection.Run("RESET");
        connection.Run("AUTH wrong").IsError("WRONGPASS invalid username-password pair or user is disabled.");
        connection.Run("AUTH");
        connection.Run("AUTH a b c");
        connection.Run("AUTH nosuchuser secret");
        connection.Run("AUTH secret").IsOk();
        connection.Run("SET k v").IsOk();
        connection.Run("AUTH wrong");
        connection.Run("GET k").IsBulk("v");
    }

    [Fact]
    public void Default_user_can_be_named()
    {
        using PairedConnection connection = new(servers.Pair);
        connection.Run("AUTH default secret").IsOk();
        connection.Run("PING");
    }

    [Fact]
    public void Reset_ends_authentication()
    {
        using PairedConnection connection = new(servers.Pair);
        connection.Run("AUTH secret").IsOk();
        connection.Run("RESET").IsSimple("RESET");
        connection.Run("PING").IsError("NOAUTH Authentication required.");
    }

    [Theory]
    [InlineData("HELLO")]
    [InlineData("HELLO 2")]
    [InlineData("HELLO 3")]
    [InlineData("HELLO 4")]
    [InlineData("HELLO abc")]
    [InlineData("HELLO 3 AUTH default wrong")]
    [InlineData("HELLO 3 AUTH nosuchuser secret")]
    [InlineData("HELLO 3 AUTH default")]
    [InlineData("HELLO 3 AUTH")]
    [InlineData("HELLO 3 SETNAME a")]
    [InlineData("HELLO 3 AUTH default secret")]
    [InlineData("HELLO 2 AUTH default secret SETNAME a")]
    [InlineData("HELLO 3 SETNAME a AUTH default secret")]
    [InlineData("HELLO 3 SETNAME \"a b\" AUTH default secret")]
    [InlineData("hello 3 auth default secret setname x setname y")]
    [InlineData("HELLO AUTH default secret")]
    public void Hello_before_authentication(string hello)
    {
        using PairedConnection connection = new(servers.Pair);
        connection.Run(hello);
        connection.Run("PING");
        connection.Run("CLIENT GETNAME");
        connection.Run("GET none");
    }

    [Theory]
    [InlineData("HELLO 3 AUTH default secret SETNAME")]
    [InlineData("HELLO 3 AUTH default secret NOSUCH")]
    public void Hello_with_an_invalid_option_does_not_log_in(string hello)
    {
        using PairedConnection connection = new(servers.Pair);
        connection.Run(hello);
        connection.Run("PING").IsError("NOAUTH Authentication required.");
    }

    [Theory]
    [InlineData("*10\r\n")]
    [InlineData("*11\r\n")]
    [InlineData("*1\r\n$16384\r\n")]
    [InlineData("*1\r\n$16385\r\n")]
    [InlineData("*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n*11\r\n")]
    public void Unauthenticated_requests_have_small_limits(string request)
    {
        using PairedConnection connection = new(servers.Pair);
        connection.Raw(request);
    }

    [Fact]
    public void Password_set_later_applies_to_new_connections()
    {
        using PairedConnection admin = new(servers.Pair);
        admin.Run("AUTH secret").IsOk();
        admin.Run("CONFIG SET requirepass other").IsOk();
        try
        {
            using PairedConnection connection = new(servers.Pair);
            connection.Run("AUTH secret");
            connection.Run("AUTH other").IsOk();
            admin.Run("PING");
            admin.Run("CONFIG GET requirepass");
            admin.Run("CONFIG SET requirepass \"\"").IsOk();
            using PairedConnection free = new(servers.Pair);
            free.Run("PING").IsSimple("PONG");
            free.Run("AUTH anything");
            free.Run("AUTH default anything");
        }
        finally
        {
            admin.Run("CONFIG SET requirepass secret").IsOk();
        }
    }

    [Fact]
    public void Default_user_description_matches_redis()
    {
        using PairedConnection connection = new(servers.Pair);
        connection.Run("AUTH secret").IsOk();
        connection.Run("ACL WHOAMI").IsBulk("default");
        connection.Run("ACL LIST");
        connection.Run("ACL USERS");
    }

    public sealed class Servers : IDisposable
    {
        private ServerPair? _pair;

        internal ServerPair Pair => _pair ??= ServerPair.Start("--requirepass", "secret");

        public void Dispose() => _pair?.Dispose();
    }
}
