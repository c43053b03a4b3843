using System.Net;

namespace RedKite.Net.Tests;

public sealed class PeerSourceTests
{
    [Theory]
    [InlineData("10.0.0.1", "::ffff:10.0.0.1", true)]
    [InlineData("10.0.0.1", "10.0.0.2", false)]
    [InlineData("2001:db8::1", "2001:db8::ffff:2", true)] // one machine has all of them
    [InlineData("2001:db8::1", "2001:db8:0:1::1", false)]
    public void Source_is_what_one_machine_has(string one, string other, bool isSame) =>
        Assert.Equal(isSame, PeerAddress.SourceOf(IPAddress.Parse(one)) == PeerAddress.SourceOf(IPAddress.Parse(other)));
}
