using System.Net.Security;
using System.Security.Authentication;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using RedKite.Net.Tls;
using RedKite.Server.Config;
using RedKite.Server.Diagnostics;
using RedKite.Server.Logging;

namespace RedKite.Server.Loops;

/// <summary>Certificate and rules of the TLS port, as the settings tls-* name them: read at the start and when one of them changes.</summary>
internal sealed class TlsSetup
{
    private const string ClientAuthentication = "1.3.6.1.5.5.7.3.2"; // what a client's certificate must be for, if it says

    private static readonly TlsRefusal NoCertificate = new("it has no certificate", "");

    private readonly Settings _settings;
    private readonly ServerLog _log;
    private volatile TlsCertificate? _certificate;

    /// <summary>A setting that needs a certificate and has no effect: nodes of a cluster do not speak to each other.</summary>
    internal static readonly string[] UsersWithoutEffect = ["tls-cluster"];

    internal TlsSetup(Settings settings, ServerLog log)
    {
        _settings = settings;
        _log = log;
        Server = new TlsServer
        {
            Failed = new TlsFailureLog(log, static () => Environment.TickCount64).Note,
            Unexpected = failure => log.Warning(LogEvents.TlsConnectionFailed, "An unexpected error ended a TLS connection: " + failure),
        };
    }

    /// <summary>The state that the connections of the TLS port share.</summary>
    internal TlsServer Server { get; }

    /// <summary>The figures for metrics and findings.</summary>
    internal TlsFigures Figures()
    {
        TlsCertificate? certificate = IsUsed ? _certificate : null;
        double seconds = certificate is null ? double.NaN : (certificate.NotAfter - DateTime.UtcNow).TotalSeconds;
        return new TlsFigures(Server.HandshakesCompleted, Server.HandshakesFailed, Server.HandshakesRefused, Server.HandshakesInProgress, seconds, certificate);
    }

    /// <summary>Reads everything, if there is a TLS port or the dashboard uses TLS.</summary>
    /// <exception cref="RedKiteConfigException">Something is wrong; one line says what. What was there before stays.</exception>
    internal void Apply()
    {
        Server.HandshakesMax = _settings.TlsHandshakesMax;
        if (!IsUsed) return;
        try
        {
            Server.Options = Load();
        }
        catch (Exception failure) when (failure is CryptographicException or IOException or UnauthorizedAccessException or ArgumentException or PlatformNotSupportedException)
        {
            throw new RedKiteConfigException($"TLS cannot be used: {failure.Message}", failure);
        }
    }

    /// <summary>Applies changed settings.</summary>
    /// <returns>Null, or the error of CONFIG SET.</returns>
    internal string? Change()
    {
        try
        {
            Apply();
            return null;
        }
        catch (RedKiteConfigException failure)
        {
            _log.Warning(LogEvents.TlsSettingRefused, failure.Message);
            return "Unable to update TLS configuration. Check server logs.";
        }
    }

    /// <summary>How the connection to a primary uses TLS; null: it does not.</summary>
    /// <exception cref="RedKiteConfigException">The settings are not as they must be.</exception>
    internal SslClientAuthenticationOptions? ClientOptions()
    {
        if (!_settings.TlsReplication) return null;
        try
        {
            (string certificate, string key, string pass) = _settings.TlsClientCertFile.Length > 0
                ? (_settings.TlsClientCertFile, _settings.TlsClientKeyFile, _settings.TlsClientKeyFilePass)
                : (_settings.TlsCertFile, _settings.TlsKeyFile, _settings.TlsKeyFilePass);
            var options = new SslClientAuthenticationOptions
            {
                ClientCertificates = [ReadCertificate(certificate, key, pass)],
                EnabledSslProtocols = Protocols(),
                AllowRenegotiation = false,
                CipherSuitesPolicy = CipherSuites(),
                TargetHost = "",
                CertificateChainPolicy = ChainPolicy(Trusted(), purpose: null),

                // As in Redis, any name: the certificate is of an authority that both trust.
                RemoteCertificateValidationCallback = (_, certificate, _, errors) => certificate is not null && (errors & ~SslPolicyErrors.RemoteCertificateNameMismatch) == SslPolicyErrors.None,
            };
            return options;
        }
        catch (Exception failure) when (failure is CryptographicException or IOException or UnauthorizedAccessException or ArgumentException or PlatformNotSupportedException)
        {
            throw new RedKiteConfigException($"TLS cannot be used: {failure.Message}", failure);
        }
    }

    private bool IsUsed => User is not null;

    // The setting that needs a certificate.
    private string? User => _settings.TlsPort != 0 ? "tls-port" : _settings.AdminTls ? "admin-tls" : _settings.TlsReplication ? "tls-replication" : UsersWithoutEffect.FirstOrDefault(name => _settings.Remembered[name] == "yes");

    private SslServerAuthenticationOptions Load()
    {
        if (_settings.TlsCertFile.Length == 0) throw new RedKiteConfigException($"TLS cannot be used: {User} needs tls-cert-file");
        if (_settings.TlsKeyFile.Length == 0) throw new RedKiteConfigException($"TLS cannot be used: {User} needs tls-key-file");
        string certificateFile = PathOf(_settings.TlsCertFile);
        X509Certificate2 certificate = ReadCertificate(_settings.TlsCertFile, _settings.TlsKeyFile, _settings.TlsKeyFilePass);
        var chain = new X509Certificate2Collection();
        chain.ImportFromPemFile(certificateFile);
        if (chain.Count > 0) chain.RemoveAt(0); // the certificate itself
        var options = new SslServerAuthenticationOptions
        {
            ServerCertificateContext = SslStreamCertificateContext.Create(certificate, chain, offline: true),
            EnabledSslProtocols = Protocols(),
            AllowRenegotiation = false,
            AllowTlsResume = _settings.TlsSessionCaching,
            CipherSuitesPolicy = CipherSuites(),
        };
        if (_settings.TlsPort != 0 && _settings.TlsAuthClients != TlsClientAuthentication.No) RequireCertificates(options); // the dashboard requires none
        _certificate = new TlsCertificate(certificate.Subject, certificate.Issuer, certificate.NotBefore.ToUniversalTime(), certificate.NotAfter.ToUniversalTime(), chain.Count);
        return options;
    }

    private void RequireCertificates(SslServerAuthenticationOptions options)
    {
        X509Certificate2Collection trusted = Trusted();
        if (trusted.Count == 0) throw new RedKiteConfigException("TLS cannot be used: tls-auth-clients needs tls-ca-cert-file or tls-ca-cert-dir with the trusted certificates");
        bool isOptional = _settings.TlsAuthClients == TlsClientAuthentication.Optional;
        options.ClientCertificateRequired = true;
        options.CertificateChainPolicy = ChainPolicy(trusted, ClientAuthentication);
        options.RemoteCertificateValidationCallback = (sender, certificate, chain, errors) =>
        {
            TlsRefusal? refusal = certificate is null ? (isOptional ? null : NoCertificate) : errors == SslPolicyErrors.None ? null : RefusalOf(certificate, chain);
            return sender is TlsServerStream stream ? stream.Vet(refusal) : refusal is null;
        };
    }

    private static TlsRefusal RefusalOf(X509Certificate certificate, X509Chain? chain)
    {
        X509ChainStatusFlags flags = chain is null ? X509ChainStatusFlags.NoError : chain.ChainStatus.Aggregate(X509ChainStatusFlags.NoError, static (all, status) => all | status.Status);
        string reason = flags switch
        {
            _ when (flags & (X509ChainStatusFlags.UntrustedRoot | X509ChainStatusFlags.PartialChain)) != 0 => "no authority that is trusted here has issued its certificate",
            _ when (flags & X509ChainStatusFlags.NotTimeValid) != 0 => certificate is X509Certificate2 known && known.NotBefore > DateTime.Now ? "its certificate is not valid yet" : "its certificate has expired",
            _ when (flags & X509ChainStatusFlags.NotValidForUsage) != 0 => "its certificate is not for clients",
            _ => $"its certificate is invalid ({flags})",
        };
        return new TlsRefusal(reason, certificate.Subject);
    }

    private static X509ChainPolicy ChainPolicy(X509Certificate2Collection trusted, string? purpose)
    {
        var policy = new X509ChainPolicy
        {
            TrustMode = X509ChainTrustMode.CustomRootTrust,
            RevocationMode = X509RevocationMode.NoCheck,
            DisableCertificateDownloads = true,
        };
        policy.CustomTrustStore.AddRange(trusted);
        if (purpose is not null) policy.ApplicationPolicy.Add(new Oid(purpose));
        return policy;
    }

    private X509Certificate2 ReadCertificate(string certificate, string key, string pass) => pass.Length == 0
        ? X509Certificate2.CreateFromPemFile(PathOf(certificate), PathOf(key))
        : X509Certificate2.CreateFromEncryptedPemFile(PathOf(certificate), pass, PathOf(key));

    private X509Certificate2Collection Trusted()
    {
        var trusted = new X509Certificate2Collection();
        if (_settings.TlsCaCertFile.Length > 0) trusted.ImportFromPemFile(PathOf(_settings.TlsCaCertFile));
        if (_settings.TlsCaCertDirectory.Length == 0) return trusted;
        foreach (string file in Directory.EnumerateFiles(PathOf(_settings.TlsCaCertDirectory)).Order(StringComparer.Ordinal))
        {
            // c_rehash names them HASH.0, HASH.1 and so on.
            string extension = Path.GetExtension(file);
            if (extension is ".pem" or ".crt" or ".cer" || (extension.Length > 1 && extension.Skip(1).All(char.IsAsciiDigit))) trusted.ImportFromPemFile(file);
        }

        return trusted;
    }

    private SslProtocols Protocols()
    {
        if (_settings.TlsProtocols.Length == 0) return SslProtocols.Tls12 | SslProtocols.Tls13;
        SslProtocols protocols = SslProtocols.None;
        foreach (string word in SettingParsers.SplitWords(_settings.TlsProtocols))
        {
            protocols |= word.ToUpperInvariant() switch
            {
                "TLSV1.2" => SslProtocols.Tls12,
                "TLSV1.3" => SslProtocols.Tls13,
                "TLSV1" or "TLSV1.1" => SslProtocols.None, // accepted as in Redis, but never negotiated
                _ => throw new RedKiteConfigException($"TLS cannot be used: tls-protocols names '{word}', but only TLSv1.2 and TLSv1.3 are supported"),
            };
        }

        if (protocols == SslProtocols.None) throw new RedKiteConfigException("TLS cannot be used: tls-protocols names neither TLSv1.2 nor TLSv1.3");
        return protocols;
    }

    private CipherSuitesPolicy? CipherSuites()
    {
        if (_settings.TlsCipherSuites.Length == 0) return null;
        if (OperatingSystem.IsWindows()) throw new RedKiteConfigException("TLS cannot be used: on Windows the system chooses the cipher suites, and tls-ciphersuites must be empty");
        List<TlsCipherSuite> suites = [];
        foreach (string name in _settings.TlsCipherSuites.Split(':', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries))
        {
            if (!Enum.TryParse(name, ignoreCase: true, out TlsCipherSuite suite) || char.IsAsciiDigit(name[0])) throw new RedKiteConfigException($"TLS cannot be used: tls-ciphersuites names '{name}', which is not a cipher suite");
            suites.Add(suite);
        }

        return new CipherSuitesPolicy(suites);
    }

    private string PathOf(string path) => Path.Combine(_settings.DirectoryPath, SettingText.ToNative(path));
}
