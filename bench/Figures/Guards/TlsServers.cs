using System.Collections;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace RedKite.Figures.Guards;

/// <summary>Servers with a plain and a TLS port, and their certificate in a temporary folder.</summary>
internal sealed class TlsServers : IReadOnlyList<ServerUnderTest>, IDisposable
{
    private readonly string _folder = Directory.CreateTempSubdirectory("redkite-figures-tls-").FullName;
    private readonly Dictionary<string, int> _tlsPorts = [];
    private readonly ServerGroup _servers;

    internal TlsServers(IEnumerable<ServerKind> kinds)
    {
        WriteCertificate();
        try
        {
            _servers = new ServerGroup(kinds.Select(Start));
        }
        catch
        {
            Directory.Delete(_folder, recursive: true);
            throw;
        }
    }

    public int Count => _servers.Count;

    public ServerUnderTest this[int index] => _servers[index];

    /// <summary>The arguments with which redis-benchmark connects by TLS.</summary>
    internal string[] ClientArguments => ["--tls", "--cacert", CertificateFile];

    private string CertificateFile => Path.Combine(_folder, "server.crt");

    private string KeyFile => Path.Combine(_folder, "server.key");

    public IEnumerator<ServerUnderTest> GetEnumerator() => _servers.GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();

    internal int TlsPortOf(ServerUnderTest server) => _tlsPorts[server.Name];

    public void Dispose()
    {
        _servers.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    private ServerUnderTest Start(ServerKind kind)
    {
        int port = MeasuredProcess.FindFreePort();
        _tlsPorts[kind.Name] = port;
        string command = FormattableString.Invariant(
            $"{kind.Command} --tls-port {port} --tls-cert-file '{CertificateFile}' --tls-key-file '{KeyFile}' --tls-auth-clients no");
        return ServerUnderTest.Start(kind with { Command = command });
    }

    // Of a curve that every client supports, like most public certificates.
    private void WriteCertificate()
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=localhost", key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(certificateAuthority: true, hasPathLengthConstraint: false, pathLengthConstraint: 0, critical: true));
        using X509Certificate2 certificate = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-1), DateTimeOffset.UtcNow.AddDays(10));
        File.WriteAllText(CertificateFile, certificate.ExportCertificatePem());
        File.WriteAllText(KeyFile, key.ExportPkcs8PrivateKeyPem());
    }
}
