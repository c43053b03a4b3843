using System.Globalization;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography.X509Certificates;
using System.Security.Cryptography;
using System.Text;
using RedKite.Bench;
using RedKite.Persistence.Files;
using RedKite.Protocol;

namespace RedKite.Host.Transfer;

/// <summary>
/// A blocking connection to a server for the program's own commands. Requests are collected and sent by <see cref="Flush"/> or when the
/// buffer is full; replies are read whole, or in pieces if they may be large. Every failure is a <see cref="TransferException"/>.
/// </summary>
internal sealed class ServerLink : IDisposable
{
    private const int PatienceMs = 120_000;
    private const int BufferBytes = 64 * 1024;
    private const int DepthMax = 16;
    private const int ArrayMax = 1 << 24;

    private readonly int _patienceMs;
    private readonly TcpClient _client;
    private readonly Stream _stream;
    private readonly byte[] _output = new byte[BufferBytes];
    private byte[] _input = new byte[BufferBytes];
    private ReplyReader _reader;
    private int _collected;
    private int _at;
    private int _end;

    private ServerLink(ServerAddress address, TcpClient client, Stream stream, int patienceMs) => (Address, _client, _stream, _patienceMs) = (address, client, stream, patienceMs);

    internal ServerAddress Address { get; }

    /// <summary>The number of bytes received.</summary>
    internal long Received { get; private set; }

    /// <summary>Connects, with TLS and a login if the address says so.</summary>
    /// <param name="address">The server.</param>
    /// <param name="patienceMs">How long it may take to connect, and to send something.</param>
    internal static ServerLink Open(ServerAddress address, int patienceMs = PatienceMs)
    {
        TcpClient? client = null;
        try
        {
            client = new TcpClient { ReceiveTimeout = patienceMs, SendTimeout = patienceMs, NoDelay = true };
            Connect(client, address, patienceMs);
            var link = new ServerLink(address, client, address.Tls is null ? client.GetStream() : Encrypted(client.GetStream(), address), patienceMs);
            if (address.Password.Length > 0) link.RunOrFail("AUTH", address.User, address.Password);
            return link;
        }
        catch (Exception failure) when (failure is SocketException or IOException or AuthenticationException or CryptographicException or UnauthorizedAccessException or TransferException)
        {
            client?.Dispose();
            if (failure is TransferException) throw;
            throw new TransferException($"{address}: {(failure is SocketException refused ? "cannot connect: " + ServerAddress.ReasonOf(refused) : FileFailure.ReasonOf(failure))}");
        }
    }

    private static void Connect(TcpClient client, ServerAddress address, int patienceMs)
    {
        using var limit = new CancellationTokenSource(patienceMs);
        try
        {
            client.ConnectAsync(address.Host, address.Port, limit.Token).AsTask().GetAwaiter().GetResult();
        }
        catch (OperationCanceledException)
        {
            throw new SocketException((int)SocketError.TimedOut);
        }
    }

    /// <summary>Runs a command and returns its reply, which may be an error.</summary>
    internal Reply Run(params ReadOnlySpan<Word> words)
    {
        Queue(words);
        Flush();
        return Read();
    }

    /// <summary>Runs a command whose error ends the transfer.</summary>
    internal Reply RunOrFail(params ReadOnlySpan<Word> words)
    {
        Reply reply = Run(words);
        return reply.IsError ? throw Refused(reply) : reply;
    }

    /// <summary>The error that an error reply becomes.</summary>
    internal TransferException Refused(Reply reply) => Fail("the server replied: " + reply.Text);

    /// <summary>The error that an error reply becomes.</summary>
    internal TransferException Refused(ReplyElement error) => Fail("the server replied: " + Encoding.UTF8.GetString(error.Bytes));

    internal TransferException Fail(string reason) => new($"{Address}: {reason}");

    /// <summary>Collects a command.</summary>
    internal void Queue(params ReadOnlySpan<Word> words)
    {
        Begin(words.Length);
        foreach (Word word in words) Add(word);
    }

    /// <summary>Begins a command of some words, which follow.</summary>
    internal void Begin(int words) => Head('*', words);

    internal void Add(Word word)
    {
        BeginWord(word.Bytes.Length);
        Piece(word.Bytes);
        EndWord();
    }

    /// <summary>Begins a word that follows in pieces.</summary>
    internal void BeginWord(long bytes) => Head('$', bytes);

    internal void Piece(ReadOnlySpan<byte> bytes)
    {
        while (bytes.Length > 0)
        {
            if (_collected == _output.Length) Flush();
            int part = Math.Min(bytes.Length, _output.Length - _collected);
            bytes[..part].CopyTo(_output.AsSpan(_collected));
            _collected += part;
            bytes = bytes[part..];
        }
    }

    internal void EndWord() => Piece("\r\n"u8);

    /// <summary>Sends what was collected.</summary>
    internal void Flush()
    {
        try
        {
            _stream.Write(_output, 0, _collected);
            _collected = 0;
        }
        catch (IOException failure)
        {
            throw Broken(failure);
        }
    }

    /// <summary>Reads a whole reply.</summary>
    internal Reply Read() => Read(0);

    /// <summary>Reads the next element of a reply, or the next piece of a string. It is valid until the next read.</summary>
    internal ReplyElement ReadElement()
    {
        ReplyElement element;
        while (!_reader.TryRead(_input.AsSpan(0, _end), ref _at, out element)) Fill();
        return element.Problem is null ? element : throw Fail("not a server of this kind: " + element.Problem);
    }

    /// <summary>Reads bytes that are no reply, some at least. They are valid until the next read.</summary>
    internal ReadOnlySpan<byte> ReadRaw()
    {
        if (_at == _end) Fill();
        ReadOnlySpan<byte> raw = _input.AsSpan(_at, _end - _at);
        _at = _end;
        return raw;
    }

    /// <summary>Leaves the last bytes that <see cref="ReadRaw"/> returned to the next read.</summary>
    internal void Unread(int bytes) => _at -= bytes;

    public void Dispose()
    {
        _stream.Dispose();
        _client.Dispose();
    }

    private Reply Read(int depth)
    {
        ReplyElement element = ReadElement();
        char marker = (char)element.Marker;
        if (element.IsAggregate && element.Number >= 0)
        {
            if (depth == DepthMax || element.Number > ArrayMax) throw Fail("a reply is nested too deeply or too large");
            var items = new List<Reply>((int)Math.Min(element.Number, 1024));
            for (long left = element.Number; left > 0; left--) items.Add(Read(depth + 1));
            return new Reply { Marker = marker, Items = [.. items] };
        }

        if (element.Number < 0 && marker != ':') return new Reply { Marker = marker };
        return new Reply { Marker = marker, Number = element.Number, Bytes = element.IsWhole ? element.Bytes.ToArray() : ReadRest(element) };
    }

    private byte[] ReadRest(ReplyElement element)
    {
        using var text = new MemoryStream();
        text.Write(element.Bytes);
        while (!element.IsWhole)
        {
            element = ReadElement();
            text.Write(element.Bytes);
        }

        return text.ToArray();
    }

    private void Head(char marker, long number)
    {
        Span<byte> head = stackalloc byte[24];
        head[0] = (byte)marker;
        number.TryFormat(head[1..], out int digits, default, CultureInfo.InvariantCulture);
        "\r\n"u8.CopyTo(head[(1 + digits)..]);
        Piece(head[..(digits + 3)]);
    }

    private void Fill()
    {
        if (_at > 0)
        {
            Buffer.BlockCopy(_input, _at, _input, 0, _end - _at);
            (_at, _end) = (0, _end - _at);
        }

        if (_end == _input.Length) Array.Resize(ref _input, _input.Length * 2);
        int read;
        try
        {
            read = _stream.Read(_input, _end, _input.Length - _end);
        }
        catch (IOException failure)
        {
            throw Broken(failure);
        }

        if (read == 0) throw Fail("the server closed the connection");
        _end += read;
        Received += read;
    }

    private TransferException Broken(IOException failure) => Fail(failure.InnerException is SocketException { SocketErrorCode: SocketError.TimedOut or SocketError.WouldBlock }
        ? string.Create(CultureInfo.InvariantCulture, $"no reply for {_patienceMs / 1000} seconds")
        : $"the connection broke: {failure.InnerException?.Message ?? failure.Message}");

    private static SslStream Encrypted(NetworkStream plain, ServerAddress address)
    {
        var encrypted = new SslStream(plain);
        var authentication = new SslClientAuthenticationOptions { TargetHost = address.Host };
        if (address.Tls == "none")
        {
#pragma warning disable CA5359 // The user has requested it.
            authentication.RemoteCertificateValidationCallback = (_, _, _, _) => true;
#pragma warning restore CA5359
        }
        else if (address.Tls != "system")
        {
            var trusted = new X509Certificate2Collection();
            trusted.ImportFromPemFile(address.Tls!);
            authentication.CertificateChainPolicy = new X509ChainPolicy { TrustMode = X509ChainTrustMode.CustomRootTrust, RevocationMode = X509RevocationMode.NoCheck };
            authentication.CertificateChainPolicy.CustomTrustStore.AddRange(trusted);
        }

        if (address.Certificate is not null) authentication.ClientCertificates = [X509Certificate2.CreateFromPemFile(address.Certificate, address.Key)];
        encrypted.AuthenticateAsClient(authentication);
        return encrypted;
    }
}
