using RedKite.Server.Tests.Changes;

namespace RedKite.Server.Tests.Commands.Arrays;

/// <summary>Arrays as keys: what commands of any type do with them, effects, notifications and access.</summary>
public sealed class ArrayKeyTests : TranscriptTests
{
    private readonly ChangeRecording _recorder = new();

    public override async ValueTask InitializeAsync()
    {
        await base.InitializeAsync();
        Server.Engine.Changes.SubscribeToEffects(_recorder);
        Run("ARMSET a 0 one 5 2 1000000 " + new string('x', 50));
        Run("ARRING ring 3 p q r s");
    }

    [Fact]
    public void Copies_and_renamed_keys_have_everything()
    {
        Run("COPY ring other").Shows("1");
        Run("ARDEL ring 1");
        Run("ARLASTITEMS other 3").Shows("[q r s]");
        Run("ARNEXT other").Shows("1");
        Run("RENAME other again").Shows("OK");
        Run("ARRING again 3 t").Shows("1");
        Run("MOVE again 3").Shows("1");
        Run("COPY a b DB 3").Shows("1");
        Run("SELECT 3");
        Run("ARLASTITEMS again 3").Shows("[r s t]");
        Run("ARMGET b 0 5 6").Shows("[one 2 nil]");
    }

    [Fact]
    public void Dumps_restore_everything()
    {
        ReadOnlyMemory<byte> dump = Server.Execute(["DUMP", "ring"]).Bytes;
        using RedKiteSession client = Server.CreateSession();
        Assert.Equal("OK", client.Execute("RESTORE"u8.ToArray(), "copy"u8.ToArray(), "0"u8.ToArray(), dump.ToArray()).Text);
        Assert.Equal(Dump("ring"), Dump("copy"));
        Run("ARLASTITEMS copy 3").Shows("[q r s]");
        Run("ARNEXT copy").Shows("1");
        Run("ARRING copy 5 t").Shows("3"); // the size of the ring is known, so it is put in order
        Run("ARGETRANGE copy 0 3").Shows("[q r s t]");
        Run("ARSET ring 1 other");
        Assert.NotEqual(Dump("ring"), Dump("copy"));
    }

    [Fact]
    public void Scans_sizes_and_memory_know_arrays()
    {
        Run("SET s text");
        Assert.Equal(["a", "ring"], Run("SCAN 0 COUNT 1000 TYPE array").Items[1].Items.Select(key => key.Text).Order(StringComparer.Ordinal));
        long before = Run("MEMORY USAGE a").Integer;
        Run("ARSET a 7 " + new string('y', 10_000));
        Assert.InRange(Run("MEMORY USAGE a").Integer - before, 10_000, 12_000);
    }

    [Theory]
    [InlineData("ARSET a 1 x y", "ARSET a 1 x y")]
    [InlineData("ARMSET a 1 x 1 y", "ARMSET a 1 x 1 y")]
    [InlineData("ARINSERT a x y", "ARINSERT a x y")]
    [InlineData("ARRING ring 5 x", "ARRING ring 5 x")]
    [InlineData("ARSEEK a 7", "ARSEEK a 7")]
    [InlineData("ARSEEK missing 7", "")]
    [InlineData("ARDEL a 0 1", "ARDEL a 0 1")]
    [InlineData("ARDEL a 1 2", "")]
    [InlineData("ARDELRANGE a 1 4", "")]
    [InlineData("ARDELRANGE a 0 18446744073709551614", "ARDELRANGE a 0 18446744073709551614")]
    [InlineData("ARDEL a 0", "ARDEL a 0")]
    [InlineData("ARGETRANGE a 0 5", "")]
    public void Effects_are_the_requests(string line, string effects)
    {
        _recorder.TakeEffects();
        Assert.False(Run(line).IsError);
        Assert.Equal(effects, string.Join(';', _recorder.TakeEffects()));
    }

    [Fact]
    public void Commands_have_the_category_array()
    {
        Assert.Contains("array", Run("ACL CAT").Items.Select(name => name.Text));
        Assert.Equal(18, Run("ACL CAT array").Items.Count);
        Run("ACL SETUSER reader on nopass ~* -@all +@array -@write").Shows("OK");
        Run("ACL DRYRUN reader ARGET a 0").Shows("OK");
        Assert.Contains("no permissions", Run("ACL DRYRUN reader ARSET a 0 x").Text, StringComparison.Ordinal);
    }

    private byte[] Dump(string key) => Run($"DUMP {key}").Bytes.ToArray();
}
