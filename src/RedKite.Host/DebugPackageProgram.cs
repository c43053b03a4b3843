using System.Globalization;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Authentication;
using System.Security.Cryptography;
using System.Security.Cryptography.X509Certificates;
using System.Text;

namespace RedKite.Host;

/// <summary><c>redkite debug-package</c>: fetches the debug package of a running server into a file. Exit status 0, or 1 with one line.</summary>
internal static class DebugPackageProgram
{
    private const int PatienceMs = 120_000;
    private const int LineBytesMax = 4096;
    private const long PackageBytesMax = 1L << 30;

    private const string Usage = """
        Usage: redkite debug-package --output FILE [option value ...]

          --output FILE    the file to write
          --host H         default 127.0.0.1
          --port P         default 6379
          --user U         default `default`
          --pass W         the password; default: the variable REDKITE_PASSWORD
          --log SECONDS    collect the log for 0 to 15 seconds, default 15
          --trace SECONDS  sample the CPU for up to 30 seconds
          --tls VERIFY     connect by TLS; VERIFY is `system`, a file with the trusted authorities, or `none`
          --cert FILE      the client's certificate, if the server requires one
          --key FILE       its key
        """;

    private static readonly string[] Options = ["--output", "--host", "--port", "--user", "--pass", "--log", "--trace", "--tls", "--cert", "--key"];

    internal static int Run(string[] arguments, TextWriter output, TextWriter errors)
    {
        if (arguments is ["--help"] or ["-h"])
        {
            output.WriteLine(Usage);
            return 0;
        }

        try
        {
            Dictionary<string, string> options = Parse(arguments);
            byte[] package = Fetch(options);
            File.WriteAllBytes(options["--output"], package);
            output.WriteLine(string.Create(CultureInfo.InvariantCulture, $"{options["--output"]}: {package.Length} bytes"));
            return 0;
        }
        catch (Exception failure) when (failure is FormatException or IOException or UnauthorizedAccessException or SocketException or AuthenticationException or CryptographicException or NotSupportedException or ArgumentException)
        {
            errors.WriteLine("redkite debug-package: " + failure.Message);
            return 1;
        }
    }

    private static Dictionary<string, string> Parse(string[] arguments)
    {
        var options = new Dictionary<string, string>(StringComparer.Ordinal);
        for (int i = 0; i < arguments.Length; i += 2)
        {
            if (!Options.Contains(arguments[i])) throw new FormatException($"unknown option '{arguments[i]}'; see --help");
            if (i + 1 == arguments.Length) throw new FormatException($"{arguments[i]} needs a value");
            options[arguments[i]] = arguments[i + 1];
        }

        if (!options.ContainsKey("--output")) throw new FormatException("--output FILE is required");
        return options;
    }

    private static byte[] Fetch(Dictionary<string, string> options)
    {
        string host = options.GetValueOrDefault("--host", "127.0.0.1");
        if (!ushort.TryParse(options.GetValueOrDefault("--port", "6379"), CultureInfo.InvariantCulture, out ushort port)) throw new FormatException("--port must be between 0 and 65535");
        using var client = new TcpClient(host, port) { ReceiveTimeout = PatienceMs, SendTimeout = PatienceMs };
        using Stream stream = Open(client.GetStream(), host, options);
        if (options.GetValueOrDefault("--pass", Environment.GetEnvironmentVariable("REDKITE_PASSWORD") ?? "") is { Length: > 0 } password)
        {
            Send(stream, "AUTH", options.GetValueOrDefault("--user", "default"), password);
            ReadLine(stream);
        }

        List<string> request = ["DEBUG", "PACKAGE"];
        if (options.TryGetValue("--log", out string? log)) request.AddRange(["LOG", log]);
        if (options.TryGetValue("--trace", out string? trace)) request.AddRange(["TRACE", trace]);
        Send(stream, [.. request]);
        string head = ReadLine(stream);
        if (head[0] != '$' || !long.TryParse(head.AsSpan(1), CultureInfo.InvariantCulture, out long bytes) || bytes is < 0 or > PackageBytesMax) throw new IOException("the server did not reply with a package");
        var package = new byte[bytes];
        stream.ReadExactly(package);
        return package;
    }

    private static Stream Open(NetworkStream plain, string host, Dictionary<string, string> options)
    {
        if (!options.TryGetValue("--tls", out string? verify)) return plain;
        var encrypted = new SslStream(plain);
        var authentication = new SslClientAuthenticationOptions { TargetHost = host };
        if (verify == "none")
        {
#pragma warning disable CA5359 // The user has requested it.
            authentication.RemoteCertificateValidationCallback = (_, _, _, _) => true;
#pragma warning restore CA5359
        }
        else if (verify != "system")
        {
            var trusted = new X509Certificate2Collection();
            trusted.ImportFromPemFile(verify);
            authentication.CertificateChainPolicy = new X509ChainPolicy { TrustMode = X509ChainTrustMode.CustomRootTrust, RevocationMode = X509RevocationMode.NoCheck };
            authentication.CertificateChainPolicy.CustomTrustStore.AddRange(trusted);
        }

        if (options.TryGetValue("--cert", out string? certificate))
        {
            if (!options.TryGetValue("--key", out string? key)) throw new FormatException("--cert needs --key");
            authentication.ClientCertificates = [X509Certificate2.CreateFromPemFile(certificate, key)];
        }

        encrypted.AuthenticateAsClient(authentication);
        return encrypted;
    }

    private static void Send(Stream stream, params string[] arguments)
    {
        var request = new StringBuilder().Append(CultureInfo.InvariantCulture, $"*{arguments.Length}\r\n");
        foreach (string argument in arguments) request.Append(CultureInfo.InvariantCulture, $"${Encoding.UTF8.GetByteCount(argument)}\r\n{argument}\r\n");
        stream.Write(Encoding.UTF8.GetBytes(request.ToString()));
    }

    // The first line of a reply; an error is thrown.
    private static string ReadLine(Stream stream)
    {
        var line = new StringBuilder();
        for (int value; (value = stream.ReadByte()) != '\n';)
        {
            if (value < 0 || line.Length == LineBytesMax) throw new IOException("the server closed the connection");
            line.Append((char)value);
        }

        string text = line.ToString().TrimEnd('\r');
        if (text.Length == 0) throw new IOException("the server replied nothing");
        return text[0] == '-' ? throw new IOException("the server replied: " + text[1..]) : text;
    }
}
