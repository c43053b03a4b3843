using System.Buffers.Binary;
using System.Globalization;
using System.Net.Sockets;
using System.Text;

namespace RedKite.Server.Diagnostics.Package;

/// <summary>
/// Records this process by the runtime's sampling profiler, through the runtime's own diagnostics socket, as dotnet-trace does
/// from outside. The protocol is documented by .NET ("diagnostics IPC protocol"); two of its commands are used.
/// </summary>
/// <remarks>
/// A message: 14 bytes "DOTNET_IPC_V1" with a zero, the whole length (16 bits), the set of commands, the command, 16 zero bits, the
/// payload. Text is UTF-16 with a zero at its end, after its length in characters (32 bits). The answer to a start is the session's
/// number, and behind it the trace until the session ends. Microsoft's client was rejected: the server has no packages.
///
/// The runtime writes the process's command line into every trace, and an argument may be a password: the arguments are overwritten.
/// </remarks>
internal static class RuntimeTrace
{
    private const int BufferMegabytes = 64;
    private const long TraceBytesMax = 256L << 20;
    private const byte EventPipeCommands = 2;
    private const byte StopTracing = 1;
    private const byte CollectTracing2 = 3;
    private const byte Answers = 0xFF;
    private const int HeaderBytes = 20;
    private const int Informational = 4;
    private const ulong LoaderAndJit = 0x8 | 0x10;
    private static readonly byte[] Magic = "DOTNET_IPC_V1\0"u8.ToArray();

    /// <summary>Samples for a time, and returns the trace in .NET's format.</summary>
    /// <exception cref="IOException">The runtime has no diagnostics socket, or refuses.</exception>
    internal static byte[] Record(TimeSpan time, CancellationToken cancellation)
    {
        string path = SocketPath();
        using Socket session = Connect(path);
        Send(session, CollectTracing2, StartPayload());
        ulong id = ReadAnswer(session);
        var trace = new MemoryStream();
        var reading = new Thread(() => ReadAll(session, trace)) { Name = "debug-package", IsBackground = true };
        reading.Start();
        cancellation.WaitHandle.WaitOne(time);
        Stop(path, id);

        // The names of the methods follow at the end. A cancelled part has its socket closed, which ends the reading.
        while (!reading.Join(100))
        {
            if (!cancellation.IsCancellationRequested) continue;
            session.Close();
            throw new OperationCanceledException(cancellation);
        }

        byte[] bytes = trace.ToArray();
        HideArguments(bytes, Environment.GetCommandLineArgs().AsSpan(1));
        return bytes;
    }

    /// <summary>Overwrites the arguments behind the program's name wherever the command line is in a trace.</summary>
    internal static void HideArguments(Span<byte> trace, ReadOnlySpan<string> arguments)
    {
        string text = string.Join(' ', arguments);
        if (text.Length == 0) return;
        ReadOnlySpan<byte> searched = Encoding.Unicode.GetBytes($" {text}\0");
        ReadOnlySpan<byte> shown = Encoding.Unicode.GetBytes(new string('*', text.Length));
        for (int at; (at = trace.IndexOf(searched)) >= 0; trace = trace[searched.Length..])
        {
            trace = trace[at..];
            shown.CopyTo(trace[sizeof(char)..]);
        }
    }

    private static string SocketPath()
    {
        if (OperatingSystem.IsWindows()) throw new IOException("The runtime is not recorded on Windows.");
        string pattern = string.Create(CultureInfo.InvariantCulture, $"dotnet-diagnostic-{Environment.ProcessId}-*-socket");
        return Directory.EnumerateFiles(Path.GetTempPath(), pattern).MaxBy(File.GetLastWriteTimeUtc)
            ?? throw new IOException("The runtime has no diagnostics socket: DOTNET_EnableDiagnostics is 0, or TMPDIR has changed.");
    }

    private static Socket Connect(string path)
    {
        var socket = new Socket(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        try
        {
            socket.Connect(new UnixDomainSocketEndPoint(path));
            return socket;
        }
        catch (SocketException failure)
        {
            socket.Dispose();
            throw new IOException("The runtime's diagnostics socket does not answer: " + failure.Message);
        }
    }

    private static void Stop(string path, ulong id)
    {
        using Socket control = Connect(path);
        var payload = new byte[sizeof(ulong)];
        BinaryPrimitives.WriteUInt64LittleEndian(payload, id);
        Send(control, StopTracing, payload);
        ReadAnswer(control);
    }

    private static byte[] StartPayload()
    {
        var bytes = new MemoryStream();
        using var writer = new BinaryWriter(bytes, Encoding.Unicode);
        writer.Write(BufferMegabytes);
        writer.Write(1); // the format: nettrace
        writer.Write(true); // the names of methods at the end
        writer.Write(2); // providers
        Provider(0, "Microsoft-DotNETCore-SampleProfiler");
        Provider(LoaderAndJit, "Microsoft-Windows-DotNETRuntime");
        writer.Flush();
        return bytes.ToArray();

        void Provider(ulong keywords, string name)
        {
            writer.Write(keywords);
            writer.Write(Informational);
            writer.Write(name.Length + 1);
            writer.Write(Encoding.Unicode.GetBytes(name + "\0"));
            writer.Write(0); // no filter
        }
    }

    private static void Send(Socket socket, byte command, byte[] payload)
    {
        var message = new byte[HeaderBytes + payload.Length];
        Magic.CopyTo(message, 0);
        BinaryPrimitives.WriteUInt16LittleEndian(message.AsSpan(14), (ushort)message.Length);
        message[16] = EventPipeCommands;
        message[17] = command;
        payload.CopyTo(message, HeaderBytes);
        socket.Send(message);
    }

    private static ulong ReadAnswer(Socket socket)
    {
        var header = new byte[HeaderBytes];
        ReadExactly(socket, header);
        int length = BinaryPrimitives.ReadUInt16LittleEndian(header.AsSpan(14)) - HeaderBytes;
        if (!header.AsSpan(0, Magic.Length).SequenceEqual(Magic) || length < 0) throw new IOException("The runtime's answer cannot be read.");
        var payload = new byte[length];
        ReadExactly(socket, payload);
        if (header[16] != Answers || header[17] != 0 || length < sizeof(ulong)) throw new IOException("The runtime refuses to record.");
        return BinaryPrimitives.ReadUInt64LittleEndian(payload);
    }

    private static void ReadExactly(Socket socket, byte[] target)
    {
        for (int length = 0; length < target.Length;)
        {
            int read = socket.Receive(target.AsSpan(length));
            if (read == 0) throw new IOException("The runtime closed its diagnostics socket.");
            length += read;
        }
    }

    private static void ReadAll(Socket socket, MemoryStream trace)
    {
        var buffer = new byte[256 * 1024];
        try
        {
            for (int read; (read = socket.Receive(buffer)) > 0;)
            {
                // Bytes beyond the limit are read and dropped, because a session that is not read blocks the runtime.
                if (trace.Length < TraceBytesMax) trace.Write(buffer, 0, read);
            }
        }
        catch (Exception failure) when (failure is SocketException or ObjectDisposedException)
        {
        }
    }
}
