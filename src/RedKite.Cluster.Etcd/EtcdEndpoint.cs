using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using Etcdserverpb;
using Grpc.Net.Client;

namespace RedKite.Server.Cluster.Store;

/// <summary>A member of etcd: its connection and the services that it has. Calls are executed once: what may be repeated only the store knows.</summary>
internal sealed class EtcdEndpoint : IDisposable
{
    // etcd ends connections that ask more often than each 5 seconds.
    private static readonly TimeSpan KeepAliveTime = TimeSpan.FromSeconds(10);

    private readonly GrpcChannel _channel;

    private EtcdEndpoint(Uri address, SslClientAuthenticationOptions? tls)
    {
        Address = address.GetLeftPart(UriPartial.Authority);
        var handler = new SocketsHttpHandler
        {
            UseProxy = false,

            // With a callback of its own the handler connects for each call that finds no connection. Otherwise the library does, and after failures
            // it waits for up to two minutes before it tries again.
            ConnectCallback = Connect,
            ConnectTimeout = EtcdOptions.FirstAttemptTime,
            KeepAlivePingDelay = KeepAliveTime,
            KeepAlivePingTimeout = KeepAliveTime,
            KeepAlivePingPolicy = HttpKeepAlivePingPolicy.WithActiveRequests,
            EnableMultipleHttp2Connections = true,
        };
        if (tls is not null) handler.SslOptions = tls;
        _channel = GrpcChannel.ForAddress(address, new GrpcChannelOptions { HttpHandler = handler, DisposeHttpClient = true, MaxReceiveMessageSize = EtcdOptions.ResponseBytesMax, MaxRetryAttempts = 1 });
        Keys = new KV.KVClient(_channel);
        Leases = new Lease.LeaseClient(_channel);
        Watches = new Watch.WatchClient(_channel);
        Users = new Auth.AuthClient(_channel);
    }

    internal string Address { get; }

    internal KV.KVClient Keys { get; }

    internal Lease.LeaseClient Leases { get; }

    internal Watch.WatchClient Watches { get; }

    internal Auth.AuthClient Users { get; }

    /// <summary>The members. Connecting is left to the first call.</summary>
    /// <exception cref="StoreException">A file is missing or is none of certificates.</exception>
    internal static EtcdEndpoint[] All(EtcdOptions options)
    {
        SslClientAuthenticationOptions? tls = options.Endpoints.Any(static address => address.Scheme == Uri.UriSchemeHttps) ? Tls(options) : null;
        return [.. options.Endpoints.Select(address => new EtcdEndpoint(address, address.Scheme == Uri.UriSchemeHttps ? tls : null))];
    }

    public void Dispose() => _channel.Dispose();

    private static async ValueTask<Stream> Connect(SocketsHttpConnectionContext context, CancellationToken cancellation)
    {
        var socket = new Socket(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            await socket.ConnectAsync(context.DnsEndPoint, cancellation);
            return new NetworkStream(socket, ownsSocket: true);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    private static SslClientAuthenticationOptions Tls(EtcdOptions options)
    {
        var tls = new SslClientAuthenticationOptions { EnabledSslProtocols = SslProtocols.Tls12 | SslProtocols.Tls13 };
        string file = options.AuthorityFile;
        try
        {
            if (options.AuthorityFile.Length > 0)
            {
                tls.CertificateChainPolicy = new X509ChainPolicy { TrustMode = X509ChainTrustMode.CustomRootTrust, RevocationMode = X509RevocationMode.NoCheck, DisableCertificateDownloads = true };
                tls.CertificateChainPolicy.CustomTrustStore.ImportFromPemFile(options.AuthorityFile);
                if (tls.CertificateChainPolicy.CustomTrustStore.Count == 0) throw new CryptographicException("it has no certificate");
            }

            if (options.CertificateFile.Length > 0)
            {
                file = options.CertificateFile;
                X509Certificate2 certificate = X509Certificate2.CreateFromPemFile(options.CertificateFile, options.KeyFile.Length > 0 ? options.KeyFile : null);
                var issuers = new X509Certificate2Collection();
                issuers.ImportFromPemFile(options.CertificateFile);
                tls.ClientCertificateContext = SslStreamCertificateContext.Create(certificate, issuers, offline: true);
            }

            return tls;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException or CryptographicException or ArgumentException)
        {
            throw new StoreException($"etcd: the certificates of '{file}' cannot be used: {EtcdFailure.OneLine(failure.Message)}", isConfiguration: true, failure);
        }
    }
}
