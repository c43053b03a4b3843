using System.Globalization;
using System.Text.RegularExpressions;

namespace RedKite.Server.Tests.Changes;

/// <summary>
/// The effects of commands and options that are newer than Redis 8.0 are commands that it knows: replicas of that version and the log depend on
/// it. What has no such form has effects of its own version.
/// NOW+10 is a time in milliseconds; empty arguments are not shown.
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

    [Theory]
    [InlineData("XDELEX s IDS 2 1-1 9-9", "XDEL s 1-1")]
    [InlineData("XDELEX s DELREF IDS 1 1-1", "MULTI;XACK s g 1-1;XDEL s 1-1;EXEC")]
    [InlineData("XDELEX s ACKED IDS 2 1-1 3-1", "")]
    [InlineData("XACKDEL s g IDS 1 1-1", "MULTI;XACK s g 1-1;XDEL s 1-1;EXEC")]
    [InlineData("XACKDEL s g ACKED IDS 1 2-1", "MULTI;XACK s g 2-1;XDEL s 2-1;EXEC")]
    [InlineData("XTRIM s MAXLEN 2 KEEPREF", "XTRIM s MAXLEN = 2")]
    [InlineData("XTRIM s MAXLEN 2 DELREF", "MULTI;XACK s g 1-1;XTRIM s MAXLEN = 2;EXEC")]
    [InlineData("XTRIM s MAXLEN 0 ACKED", "")]
    [InlineData("XADD s ACKED MAXLEN 2 7-1 f v", "XADD s 7-1 f v")]
    [InlineData("XADD s DELREF MAXLEN 1 7-1 f v", "MULTI;XADD s MAXLEN = 1 7-1 f v;XACK s g 1-1;XACK s g 2-1;EXEC")]
    [InlineData("XADD s KEEPREF 7-1 f v", "XADD s 7-1 f v")]
    [InlineData("XNACK s g FATAL IDS 1 1-1", "XCLAIM s g 0 1-1 TIME 0 RETRYCOUNT 9223372036854775807 FORCE JUSTID")]
    [InlineData("XREADGROUP GROUP g b CLAIM 0 COUNT 1 STREAMS s >", "MULTI;XGROUP CREATECONSUMER s g b;XCLAIM s g b 0 1-1 TIME NOW+0 RETRYCOUNT 2 FORCE JUSTID;EXEC")]
    public void Effects_of_stream_commands(string line, string effects) =>
        Check("XADD s 1-1 a 1; XADD s 2-1 a 2; XADD s 3-1 a 3; XGROUP CREATE s g 0; XREADGROUP GROUP g a COUNT 2 STREAMS s >", line, effects);

    [Theory]
    [InlineData("LMOVEM l m LEFT LEFT COUNT 2 OBO", "MULTI;LPOP l 2;LPUSH m 1 2;EXEC")]
    [InlineData("LMOVEM l m LEFT LEFT COUNT 2 BULK", "MULTI;LPOP l 2;LPUSH m 2 1;EXEC")]
    [InlineData("LMOVEM l m RIGHT RIGHT EXACTLY 3 BULK", "MULTI;RPOP l 3;RPUSH m 1 2 3;EXEC")]
    [InlineData("LMOVEM l l LEFT LEFT COUNT 2 OBO", "MULTI;LSET l 0 2;LSET l 1 1;EXEC")]
    [InlineData("LMOVEM l l LEFT RIGHT COUNT 2 BULK", "MULTI;LMOVE l l LEFT RIGHT;LMOVE l l LEFT RIGHT;EXEC")]
    [InlineData("LMOVEM l m LEFT LEFT EXACTLY 4 OBO", "")]
    [InlineData("ZUNIONSTORE d 1 z AGGREGATE COUNT", "MULTI;DEL d;ZADD d 1 a 1 b;EXEC")]
    [InlineData("ZUNIONSTORE d 1 nosuch AGGREGATE COUNT", "")]
    [InlineData("BITOP DIFF d s nosuch", "SET d a")]
    [InlineData("BITOP ONE d nosuch", "")]
    [InlineData("BITOP ONE s nosuch", "DEL s")]
    [InlineData("ZMOVE z d MIN", "MULTI;ZADD d 1 a;ZREM z a;EXEC")]
    [InlineData("ZMOVEMEMBER z d MEMBERS 1 b", "MULTI;ZADD d 2.5 b;ZREM z b;EXEC")]
    public void Effects_of_moves_and_algebra(string line, string effects) => Check("RPUSH l 1 2 3; ZADD z 1 a 2.5 b; SET s a", line, effects);

    [Theory]
    [InlineData("LMOVE l m Left riGht", "LMOVE l m Left riGht")]
    [InlineData("BLMOVE l m right LEFT 5", "LMOVE l m right LEFT")]
    [InlineData("RPOPLPUSH l m", "RPOPLPUSH l m")]
    [InlineData("BRPOPLPUSH l l 0", "RPOPLPUSH l l")]
    public void Moves_of_one_element_keep_the_words_of_the_client(string line, string effects) => Check("RPUSH l 1 2 3", line, effects);

    [Theory]
    [InlineData("XADD s IDMP p 1 * f v", "MULTI;XADD s NOW+0-0 f v;XCFGSET s IDMP-DURATION 100 IDMP-MAXSIZE 100;XIDMPRECORD s p 1 NOW+0-0;EXEC")]
    [InlineData("XADD r IDMP p 2 MAXLEN 1 * f v", "MULTI;XADD r NOW+0-1 f v;XIDMPRECORD r p 2 NOW+0-1;XTRIM r MAXLEN = 1;EXEC")]
    [InlineData("XADD r IDMP p 2 MAXLEN 0 DELREF * f v", "MULTI;XADD r NOW+0-1 f v;XIDMPRECORD r p 2 NOW+0-1;XTRIM r MAXLEN = 0;EXEC")]
    [InlineData("XADD r IDMP p 1 * f v", "")]
    [InlineData("XCFGSET r IDMP-MAXSIZE 7", "XCFGSET r IDMP-DURATION 100 IDMP-MAXSIZE 7")]
    [InlineData("XCFGSET r IDMP-MAXSIZE 100", "")]
    [InlineData("XIDMPRECORD r q 1 NOW+0-0", "XIDMPRECORD r q 1 NOW+0-0")]
    public void Effects_of_producers(string line, string effects) => Check("XADD r IDMP p 1 * f v", line.Replace("NOW+0", $"{Clock.NowMs}", StringComparison.Ordinal), effects);

    [Theory]
    [InlineData("SEXPIRE s 10 MEMBERS 3 a b nosuch", "SPEXPIREAT s NOW+10000 MEMBERS 2 a b")]
    [InlineData("SEXPIRE s 10 XX MEMBERS 2 a x", "SPEXPIREAT s NOW+10000 MEMBERS 1 x")]
    [InlineData("SEXPIRE s 0 MEMBERS 2 a nosuch", "SREM s a")]
    [InlineData("SEXPIRE s 10 XX MEMBERS 1 a", "")]
    [InlineData("SPERSIST s MEMBERS 2 a x", "SPERSIST s MEMBERS 1 x")]
    [InlineData("SADDEX s PX 5 MEMBERS 2 a z", "SADDEX s PXAT NOW+5 MEMBERS 2 a z")]
    [InlineData("SADDEX s MXX KEEPTTL MEMBERS 2 a x", "")]
    [InlineData("SADDEX s KEEPTTL MEMBERS 2 a z", "SADDEX s KEEPTTL MEMBERS 2 a z")]
    [InlineData("SADDEX s EXAT 1 MEMBERS 2 a z", "SREM s a")]
    public void Effects_of_expiring_members(string line, string effects) => Check("SADD s a b; SADDEX s PX 500 MEMBERS 1 x", line, effects);

    [Theory]
    [InlineData("HIMPORT SET k f 1 2", "MULTI;DEL k;HSET k a 1 b 2;EXEC")]
    [InlineData("HIMPORT SET m f 1 2", "HSET m a 1 b 2")]
    public void Effects_of_imports(string line, string effects) => Check("HSET k x y; HIMPORT PREPARE f a b", line, effects);

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
