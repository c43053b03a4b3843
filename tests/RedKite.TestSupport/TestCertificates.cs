using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;

namespace RedKite.TestSupport;

/// <summary>An authority and the certificates that it issues, in a temporary folder.</summary>
public sealed class TestCertificates : IDisposable
{
    private readonly ECDsa _key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
    private readonly X509Certificate2 _authority;

    public TestCertificates()
    {
        var request = new CertificateRequest($"CN=authority {Guid.NewGuid():N}", _key, HashAlgorithmName.SHA256);
        request.CertificateExtensions.Add(new X509BasicConstraintsExtension(true, false, 0, true));
        _authority = request.CreateSelfSigned(DateTimeOffset.UtcNow.AddDays(-30), DateTimeOffset.UtcNow.AddDays(30));
        File.WriteAllText(PathOf("authority.crt"), _authority.ExportCertificatePem());
    }

    public string Folder { get; } = Directory.CreateTempSubdirectory("redkite-tls").FullName;

    public void Dispose()
    {
        _authority.Dispose();
        _key.Dispose();
        Directory.Delete(Folder, recursive: true);
    }

    public string PathOf(string name) => Path.Combine(Folder, name);

    /// <summary>Writes NAME.crt and NAME.key; returns the certificate with its key.</summary>
    public X509Certificate2 Issue(string name, int firstDay = -1, int lastDay = 10, string? password = null, string? purpose = null)
    {
        using var key = ECDsa.Create(ECCurve.NamedCurves.nistP256);
        var request = new CertificateRequest("CN=" + name, key, HashAlgorithmName.SHA256);
        var names = new SubjectAlternativeNameBuilder();
        names.AddDnsName("localhost");
        request.CertificateExtensions.Add(names.Build());
        if (purpose is not null) request.CertificateExtensions.Add(new X509EnhancedKeyUsageExtension([new Oid(purpose)], critical: false));
        using X509Certificate2 issued = request.Create(_authority, DateTimeOffset.UtcNow.AddDays(firstDay), DateTimeOffset.UtcNow.AddDays(lastDay), RandomNumberGenerator.GetBytes(8));
        File.WriteAllText(PathOf(name + ".crt"), issued.ExportCertificatePem());
        File.WriteAllText(PathOf(name + ".key"), password is null
            ? key.ExportPkcs8PrivateKeyPem()
            : key.ExportEncryptedPkcs8PrivateKeyPem(password, new PbeParameters(PbeEncryptionAlgorithm.Aes256Cbc, HashAlgorithmName.SHA256, 1000)));
        using X509Certificate2 withKey = issued.CopyWithPrivateKey(key);
        return X509CertificateLoader.LoadPkcs12(withKey.Export(X509ContentType.Pkcs12), null);
    }
}
