using System.Text;
using RedKite.Differential.Tests.Streams;
using RedKite.Testing;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>
/// The same connection to the oracle and to the system under test, for transcripts written by hand. Whatever is run on it is
/// compared at once, and the reply of the system under test is returned for further statements.
/// </summary>
internal sealed class PairedConnection : IDisposable
{
    // How long a server is watched to believe that it neither replies nor closes.
    private const int QuietMs = 60;

    private readonly RespConnection _oracle;
    private readonly RespConnection _subject;
    private (ConnectionFacts Oracle, ConnectionFacts Subject) _facts;

    public PairedConnection(ServerPair pair)
    {
        _oracle = RespConnection.Connect(pair.Oracle.Port);
        _subject = RespConnection.Connect(pair.Subject.Port);
    }

    /// <summary>Runs a command on both and compares the replies.</summary>
    public RespValue Run(string line) => Run(line, line);

    /// <summary>Runs a command that names a connection by its id and address, which are not the same on both servers.</summary>
    /// <param name="about">The connection.</param>
    /// <param name="line">The command.</param>
    /// <param name="isWaiting">The connection cannot be asked: what it said before counts.</param>
    public RespValue Run(PairedConnection about, Func<ConnectionFacts, string> line, bool isWaiting = false)
    {
        if (!isWaiting) about._facts = (Facts(about._oracle), Facts(about._subject));
        return Run(line(about._facts.Oracle), line(about._facts.Subject));
    }

    /// <summary>Compares replies to commands that were sent before.</summary>
    public RespValue Read(string command = "")
    {
        Comparison comparison = new(CommandLine.Split(command), _oracle.Read(), _subject.Read());
        bool same = _oracle.LastBytes.SequenceEqual(_subject.LastBytes) && comparison.Oracle.Equals(comparison.Subject);
        if (!same && !AllowedDifferences.Allow(comparison)) Assert.Fail("The replies differ.\n" + Difference.Of(0, comparison));
        return comparison.Subject;
    }

    /// <summary>Sends a command to both and reads nothing.</summary>
    public void Send(string line)
    {
        _oracle.SendCommand(line);
        _subject.SendCommand(line);
    }

    /// <summary>Sends bytes as they are to both and reads nothing.</summary>
    public void SendBytes(string bytes)
    {
        _oracle.Send(bytes);
        _subject.Send(bytes);
    }

    /// <summary>Neither server says anything.</summary>
    public void IsSilent()
    {
        foreach (RespConnection side in (RespConnection[])[_oracle, _subject])
        {
            (byte[] bytes, bool closed) = side.ReadUntilQuiet(QuietMs);
            Assert.Equal((0, false), (bytes.Length, closed));
        }
    }

    /// <summary>Sends bytes as they are and compares all bytes that come back, and whether the connection is closed then.</summary>
    public (byte[] Bytes, bool Closed) Raw(string bytes)
    {
        SendBytes(bytes);
        (byte[] Bytes, bool Closed) oracle = _oracle.ReadUntilQuiet(QuietMs);
        (byte[] Bytes, bool Closed) subject = _subject.ReadUntilQuiet(QuietMs / 2, oracle.Bytes.Length, oracle.Closed);
        string Shown((byte[] Bytes, bool Closed) side) => $"{CommandLine.Format(side.Bytes)} and {(side.Closed ? "closed" : "open")}";
        if (Shown(oracle) != Shown(subject)) Assert.Fail("The replies differ.\n" + new Difference(0, [Encoding.Latin1.GetBytes(bytes)], Shown(oracle), Shown(subject)));
        return subject;
    }

    public void Dispose()
    {
        _oracle.Dispose();
        _subject.Dispose();
    }

    private RespValue Run(string oracleLine, string subjectLine)
    {
        _oracle.SendCommand(oracleLine);
        _subject.SendCommand(subjectLine);
        return Read(subjectLine);
    }

    private static ConnectionFacts Facts(RespConnection connection) => new(connection.Run("CLIENT ID").Number, connection.LocalEndPoint.ToString()!);
}

/// <summary>What a server knows a connection by.</summary>
internal sealed record ConnectionFacts(long Id, string Address);
