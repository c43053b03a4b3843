using System.Text;
using RedKite.Testing;

namespace RedKite.Differential.Tests.Streams;

/// <summary>One command and the replies that both servers gave to it.</summary>
internal sealed record Comparison(byte[][] Command, RespValue Oracle, RespValue Subject)
{
    public string Name => Word(0);

    /// <summary>A word of the command in upper case, empty if there is none.</summary>
    public string Word(int index) => index < Command.Length ? Encoding.Latin1.GetString(Command[index]).ToUpperInvariant() : "";
}

/// <summary>Where the two servers differ.</summary>
/// <param name="StepIndex">The step of the stream; its length if the keyspaces differed at the end.</param>
internal sealed record Difference(int StepIndex, byte[][] Command, string Oracle, string Subject);
