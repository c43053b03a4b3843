using RedKite.Server.Cluster.Store;
using RedKite.Server.Config;

namespace RedKite.Server.Tests.Cluster;

/// <summary>The settings of a cluster's store.</summary>
public sealed class ClusterStoresTests
{
    [Theory]
    [InlineData("http://a", "http://a:2379")]
    [InlineData("https://a:1,https://10.0.0.2:2/, https://[::1]:3", "https://a:1,https://10.0.0.2:2,https://[::1]:3")]
    [InlineData("http://a:80,https://b:443", "http://a:80,https://b:443")]
    [InlineData("", "")]
    public void Addresses_have_ports(string text, string canonical)
    {
        Assert.Null(SettingParsers.EtcdAddresses([text], "", out string parsed));
        Assert.Equal(canonical, parsed);
    }

    [Theory]
    [InlineData("a:2379")]
    [InlineData("10.0.0.1")]
    [InlineData("http://")]
    [InlineData("http://a,")]
    [InlineData("ftp://a:1")]
    [InlineData("http://a:1/path")]
    [InlineData("http://a:1?query")]
    [InlineData("http://a:1#fragment")]
    [InlineData("http://a:65536")]
    public void Other_addresses_are_refused(string text) =>
        Assert.Equal("argument must be addresses that begin with http:// or https:// and have a host and a port alone, with commas between them", SettingParsers.EtcdAddresses([text], "", out _));

    [Fact]
    public void Passwords_in_addresses_and_too_many_of_them_are_refused()
    {
        Assert.Contains("cluster-etcd-password", SettingParsers.EtcdAddresses(["http://user:secret@a:1"], "", out _), StringComparison.Ordinal);
        Assert.Null(SettingParsers.EtcdAddresses([string.Join(',', Enumerable.Repeat("http://a:1", 16))], "", out _));
        Assert.Equal("argument has more than 16 addresses", SettingParsers.EtcdAddresses([string.Join(',', Enumerable.Repeat("http://a:1", 17))], "", out _));
    }

    [Theory]
    [InlineData("/redkite/", true)]
    [InlineData("a/", true)]
    [InlineData("/redkite", false)]
    [InlineData("", false)]
    [InlineData("/a b/", false)]
    [InlineData("/\u00E4/", false)]
    public void A_prefix_ends_with_a_slash(string text, bool isValid) => Assert.Equal(isValid, SettingParsers.EtcdPrefix([text], "", out _) is null);

    [Theory]
    [InlineData("cluster-etcd http://127.0.0.1:1", "cluster-etcd", "it needs cluster-enabled yes")]
    [InlineData("cluster-etcd-password s3cret", "cluster-etcd-password", "it needs cluster-etcd-user")]
    [InlineData("cluster-etcd-key-file k", "cluster-etcd-key-file", "it needs cluster-etcd-cert-file")]
    public void Combinations_without_a_meaning_are_one_line(string line, string setting, string reason)
    {
        var configuration = new Configuration(new Settings());
        string[] words = line.Split(' ');
        Assert.Null(configuration.Load(SettingTable.Find(words[0])!, [words[1]], [], setting));
        RedKiteConfigException failure = Assert.Throws<RedKiteConfigException>(configuration.CheckAtStart);
        Assert.Contains(setting, failure.Message, StringComparison.Ordinal);
        Assert.Contains(reason, failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("s3cret", failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain('\n', failure.Message);
    }

    [Fact]
    public async Task Settings_name_a_store()
    {
        var configuration = new Configuration(new Settings());
        Assert.Null(ClusterStores.Open(configuration.Settings));
        configuration.Settings.ClusterEtcd = "http://127.0.0.1:1";
        await using IClusterStore store = ClusterStores.Open(configuration.Settings)!;
        Assert.IsType<EtcdClusterStore>(store);
        configuration.Settings.ClusterEtcd = "https://127.0.0.1:1";
        configuration.Settings.ClusterEtcdCaFile = "missing.crt";
        StoreException failure = Assert.Throws<StoreException>(() => ClusterStores.Open(configuration.Settings));
        Assert.True(failure.IsConfiguration);
        Assert.Contains("missing.crt", failure.Message, StringComparison.Ordinal);
    }
}
