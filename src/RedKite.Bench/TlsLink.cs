using System.Net;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;

namespace RedKite.Bench;

/// <summary>
/// An encrypted connection. .NET's SslStream decrypts on the thread pool and hands each read to the loop, which
/// scans it and sends on its own thread. Slower than an unencrypted connection, so the generator may become the bottleneck.
/// </summary>
internal sealed class TlsLink : IDisposable
{
    private readonly SslStream _stream;
    private byte[] _buffer = new byte[64 * 1024];
    private int _filled;
    private volatile bool _disposed;

    private TlsLink(SslStream stream) => _stream = stream;

    /// <summary>Connects and completes the handshake synchronously.</summary>
    /// <exception cref="SocketException">The server cannot be reached.</exception>
    /// <exception cref="AuthenticationException">The handshake failed.</exception>
    internal static TlsLink Connect(EndPoint server, BenchOptions options)
    {
        var socket = new Socket(server.AddressFamily, SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        try
        {
            socket.Connect(server);
            var stream = new SslStream(new NetworkStream(socket, ownsSocket: true));
            stream.AuthenticateAsClient(Authentication(options));
            return new TlsLink(stream);
        }
        catch
        {
            socket.Dispose();
            throw;
        }
    }

    internal void Send(ReadOnlySpan<byte> bytes)
    {
        if (bytes.IsEmpty) return;
        try
        {
            _stream.Write(bytes);
        }
        catch (IOException)
        {
            // Reading finds and reports the same error.
        }
    }

    /// <summary>Reads until the connection ends and hands the bytes to the loop's thread.</summary>
    internal async Task ReceiveAsync(LoadLoop owner, LoadClient client)
    {
        while (!_disposed)
        {
            int read = 0;
            try
            {
                if (_filled == _buffer.Length) Array.Resize(ref _buffer, _buffer.Length * 2);
                read = await _stream.ReadAsync(_buffer.AsMemory(_filled)).ConfigureAwait(false);
            }
            catch (Exception gone) when (gone is IOException or ObjectDisposedException)
            {
                // An error ends the connection like zero bytes.
            }

            if (read == 0)
            {
                owner.Loop.Post(() => owner.Disconnected(client));
                return;
            }

            _filled += read;
            var scanned = new TaskCompletionSource(TaskCreationOptions.RunContinuationsAsynchronously);
            owner.Loop.Post(() =>
            {
                int consumed = owner.Receive(client, _buffer.AsSpan(0, _filled));
                _filled -= consumed;
                _buffer.AsSpan(consumed, _filled).CopyTo(_buffer);
                scanned.SetResult();
            });
            await scanned.Task.ConfigureAwait(false);
        }
    }

    public void Dispose()
    {
        _disposed = true;
        _stream.Dispose();
    }

    private static SslClientAuthenticationOptions Authentication(BenchOptions options)
    {
        var authentication = new SslClientAuthenticationOptions { TargetHost = options.TlsServerName ?? options.Server };
        if (options.TlsCertificate is not null)
        {
            authentication.ClientCertificates = [X509Certificate2.CreateFromPemFile(options.TlsCertificate, options.TlsKey)];
        }

        if (options.TlsSkipVerify)
        {
#pragma warning disable CA5359 // Requested by the option.
            authentication.RemoteCertificateValidationCallback = (_, _, _, _) => true;
#pragma warning restore CA5359
        }
        else if (options.TlsAuthority is not null)
        {
            var trusted = new X509ChainPolicy { TrustMode = X509ChainTrustMode.CustomRootTrust, RevocationMode = X509RevocationMode.NoCheck };
            trusted.CustomTrustStore.ImportFromPemFile(options.TlsAuthority);
            authentication.CertificateChainPolicy = trusted;
        }

        return authentication;
    }
}
