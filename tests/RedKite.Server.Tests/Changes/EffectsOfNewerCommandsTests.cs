using System.Globalization;
using System.Text.RegularExpressions;

namespace RedKite.Server.Tests.Changes;

/// <summary>
/// The effects of commands and options that are newer than Redis 8.0 are commands that it knows: replicas of that version and the log depend on it.
/// NOW+10 is a time in milliseconds.
/// </summary>
public sealed partial class EffectsOfNewerCommandsTests : TranscriptTests
{
    private readonly ChangeRecording _recorder = new();

    public override async ValueTask InitializeAsync()
    {
        await base.InitializeAsync();
        Server.Engine.Changes.SubscribeToEffects(_recorder);
    }

    [Theory]
    [InlineData("SET k b IFEQ a", "SET k b")]
    [InlineData("SET k b IFEQ a GET", "SET k b")]
    [InlineData("SET k b IFNE z KEEPTTL", "SET k b PXAT NOW+100000")]
    [InlineData("SET k b IFNE z EX 10", "SET k b PXAT NOW+10000")]
    [InlineData("SET k b IFEQ z", "")]
    [InlineData("DELEX k", "DEL k")]
    [InlineData("DELEX k IFEQ a", "DEL k")]
    [InlineData("DELEX k IFEQ b", "")]
    [InlineData("DELIFEQ k a", "DEL k")]
    [InlineData("MSETEX 2 k 1 m 2", "MULTI;SET k 1;SET m 2;EXEC")]
    [InlineData("MSETEX 2 k 1 m 2 PX 5", "MULTI;SET k 1 PXAT NOW+5;SET m 2 PXAT NOW+5;EXEC")]
    [InlineData("MSETEX 2 k 1 m 2 KEEPTTL", "MULTI;SET k 1 PXAT NOW+100000;SET m 2;EXEC")]
    [InlineData("MSETEX 2 k 1 m 2 NX", "")]
    [InlineData("INCREX n", "SET n 1")]
    [InlineData("INCREX n BYINT 5 EX 10 ENX", "SET n 5 PXAT NOW+10000")]
    [InlineData("INCREX n BYFLOAT 1.5", "SET n 1.5")]
    [InlineData("INCREX n BYINT 5 UBOUND 4", "")]
    public void Effects_of_string_commands(string line, string effects) => Check("SET k a EX 100", line, effects);

    private void Check(string before, string line, string effects)
    {
        foreach (string command in before.Split("; ")) Assert.False(Run(command).IsError);
        _recorder.TakeEffects();
        Assert.False(Run(line).IsError);
        string expected = Time().Replace(effects, time => $"{Clock.NowMs + long.Parse(time.Groups[1].ValueSpan, CultureInfo.InvariantCulture)}");
        Assert.Equal(expected, string.Join(';', _recorder.TakeEffects()));
    }

    [GeneratedRegex(@"NOW\+([0-9]+)")]
    private static partial Regex Time();
}
