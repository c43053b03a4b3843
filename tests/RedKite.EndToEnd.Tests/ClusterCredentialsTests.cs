using System.Net;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using System.Text.Json;
using RedKite.TestSupport;

namespace RedKite.EndToEnd.Tests;

/// <summary>redkite cluster and redkite controller with an etcd that has users and wants certificates, with nodes that have TLS, and an operator who accepts a loss.</summary>
public sealed class ClusterCredentialsTests : IDisposable
{
    private const int PatienceMs = 90_000;
    private const string Password = "planted-of-etcd";

    private readonly TestCertificates _certificates = new();
    private readonly TemporaryFolder _folder = new();

    public ClusterCredentialsTests()
    {
        foreach (string name in (string[])["etcd", "client"]) _certificates.Issue(name).Dispose();
        Directory.CreateDirectory(_folder.Path);
        File.WriteAllText(_folder.File("password"), Password + "\n");
    }

    public void Dispose()
    {
        _certificates.Dispose();
        _folder.Dispose();
    }

    [Fact]
    public async Task The_programs_of_operators_log_in_at_etcd_by_tls()
    {
        await using EtcdProgram etcd = await StartEtcdAsync();
        using ServerProcess controller = StartController(etcd, Password);
        await UntilAsync(async () => (await Cluster(etcd, "status", "--json")).Output.Contains("\"controller\":\"controller on ", StringComparison.Ordinal));
        ChildProgram refused = await Transfers.Run(["cluster", "status", .. StoreOptions(etcd), "--cluster-etcd-user", "nobody", "--cluster-etcd-password-file", _folder.File("password")]);
        Assert.Equal(1, refused.ExitCode);
        Assert.Contains("invalid user ID or password", Assert.Single(refused.Errors.TrimEnd().Split('\n')), StringComparison.Ordinal);
        ChildProgram stranger = await Transfers.Run(["cluster", "status", "--cluster-etcd", etcd.Addresses[0].ToString()]); // it trusts no authority of etcd's, and has no certificate
        Assert.Equal(1, stranger.ExitCode);
        Assert.Single(stranger.Errors.TrimEnd().Split('\n'));
        foreach (ChildProgram run in (ChildProgram[])[refused, stranger]) Assert.DoesNotContain(Password, run.Output + run.Errors, StringComparison.Ordinal);
    }

    [Long]
    [Fact]
    public async Task A_cluster_with_tls_is_made_and_an_operator_accepts_a_loss()
    {
        await using EtcdProgram etcd = await StartEtcdAsync();
        using ServerProcess controller = StartController(etcd, Password);
        ServerProcess[] nodes = [.. Enumerable.Range(0, 3).AsParallel().Select(_ => StartNode(etcd))];
        try
        {
            string[] names = [.. nodes.Select(static node => $"127.0.0.1:{node.Port}")];
            string error = "";
            await UntilAsync(
                async () =>
                {
                    ChildProgram run = await Cluster(etcd, ["create", .. names, "--replicas", "2", "--yes"]);
                    error = run.Errors;
                    return run.ExitCode == 0; // they register soon
                },
                () => error);
            await UntilAsync(async () =>
            {
                JsonElement shards = JsonDocument.Parse((await Cluster(etcd, "status", "--json")).Output).RootElement.GetProperty("shards");
                return shards.GetArrayLength() == 1 && shards[0].GetProperty("replicas").EnumerateArray().Count(static replica => replica.GetProperty("in_step").GetBoolean()) == 2;
            });
            JsonElement shard = JsonDocument.Parse((await Cluster(etcd, "status", "--json")).Output).RootElement.GetProperty("shards")[0];
            ServerProcess primary = Named(shard.GetProperty("primary")), died = Named(shard.GetProperty("replicas")[0]), left = Named(shard.GetProperty("replicas")[1]);
            using (RespConnection client = primary.Connect()) client.Run("SET key value").IsOk();
            died.Signal("KILL");
            primary.Signal("KILL");
            string name = $"127.0.0.1:{left.Port}";

            // The write may be on the replica that has died alone.
            ChildProgram refused = await Cluster(etcd, "failover", name, "--yes");
            Assert.Equal(5, refused.ExitCode);
            (await Cluster(etcd, "failover", name, "--accept-loss", "--yes")).Succeeded();
            using RespConnection reader = left.Connect();
            await UntilAsync(() => Task.FromResult(reader.Run("SET other value").Text is "OK" or ['N', 'O', 'R', ..])); // it serves, without a replica
        }
        finally
        {
            foreach (ServerProcess node in nodes) node.Dispose();
        }

        ServerProcess Named(JsonElement node) => nodes.Single(each => node.GetProperty("address").GetString() == $"127.0.0.1:{each.Port}");
    }

    private async Task<EtcdProgram> StartEtcdAsync()
    {
        Assert.SkipWhen(EtcdProgram.FilePath is null, EtcdProgram.Missing);
        EtcdProgram etcd = await EtcdProgram.StartAsync(members: 1, _certificates, TestContext.Current.CancellationToken);
        await PostAsync(etcd, "auth/user/add", new { name = "root", password = Password });
        await PostAsync(etcd, "auth/user/grant", new { user = "root", role = "root" });
        await PostAsync(etcd, "auth/enable", new { });
        return etcd;
    }

    private ServerProcess StartController(EtcdProgram etcd, string password) =>
        ServerProcess.StartUnchecked(new("controller", $"dotnet \"{Transfers.Program}\" controller {string.Join(' ', StoreOptions(etcd))} --cluster-etcd-user root --cluster-etcd-password {password} --cluster-lease-ms 1000 --cluster-auto-join no", IsRedKite: true), port: 0);

    private ServerProcess StartNode(EtcdProgram etcd) => Transfers.Start(
        "redkite",
        [
            "--save", "", "--cluster-enabled", "yes", .. StoreOptions(etcd), "--cluster-etcd-user", "root", "--cluster-etcd-password", Password, "--cluster-lease-ms", "1000", "--cluster-announce-ip", "127.0.0.1", "--cluster-controller", "no",
            "--replica-acks", "1", "--replica-acks-timeout", "1000", "--repl-diskless-sync-delay", "0", "--tls-port", LoopbackPort.Next().ToString(System.Globalization.CultureInfo.InvariantCulture), "--tls-auth-clients", "no",
            "--tls-cert-file", _certificates.PathOf("etcd.crt"), "--tls-key-file", _certificates.PathOf("etcd.key"), "--tls-ca-cert-file", _certificates.PathOf("authority.crt"),
        ]);

    private string[] StoreOptions(EtcdProgram etcd) =>
        ["--cluster-etcd", etcd.Addresses[0].ToString(), "--cluster-etcd-ca-file", _certificates.PathOf("authority.crt"), "--cluster-etcd-cert-file", _certificates.PathOf("client.crt"), "--cluster-etcd-key-file", _certificates.PathOf("client.key")];

    private Task<ChildProgram> Cluster(EtcdProgram etcd, params string[] arguments) =>
        Transfers.Run(["cluster", .. arguments, .. StoreOptions(etcd), "--cluster-etcd-user", "root", "--cluster-etcd-password-file", _folder.File("password"), "--tls", "none"]); // the certificate names localhost, and the nodes announce 127.0.0.1

    // etcd's gateway of JSON: not by what RedKite uses.
    private async Task PostAsync(EtcdProgram etcd, string path, object body)
    {
        using var handler = new HttpClientHandler { ServerCertificateCustomValidationCallback = HttpClientHandler.DangerousAcceptAnyServerCertificateValidator };
        using X509Certificate2 pem = X509Certificate2.CreateFromPemFile(_certificates.PathOf("client.crt"), _certificates.PathOf("client.key"));
        handler.ClientCertificates.Add(pem);
        using var http = new HttpClient(handler);
        using var content = new StringContent(JsonSerializer.Serialize(body), Encoding.UTF8, "application/json");
        using HttpResponseMessage reply = await http.PostAsync(new Uri(etcd.Addresses[0], "/v3/" + path), content, TestContext.Current.CancellationToken);
        Assert.True(reply.StatusCode == HttpStatusCode.OK, await reply.Content.ReadAsStringAsync(TestContext.Current.CancellationToken));
    }

    private static async Task UntilAsync(Func<Task<bool>> holds, Func<string>? what = null)
    {
        long deadline = Environment.TickCount64 + PatienceMs;
        while (!await holds())
        {
            Assert.True(Environment.TickCount64 < deadline, $"timed out: {what?.Invoke()}");
            await Task.Delay(50, TestContext.Current.CancellationToken);
        }
    }
}
