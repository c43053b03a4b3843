using RedKite.TestSupport;

namespace RedKite.Differential.Tests.Transcripts;

/// <summary>The errors of commands on hash fields, and their precedence. Since Redis 8.4 options may follow the fields, so it is Redis 8.6 that they are compared with.</summary>
public sealed class FieldErrorTests : IClassFixture<NewerServers>, IDisposable
{
    private readonly PairedConnection _client;

    public FieldErrorTests(NewerServers servers)
    {
        servers.Pair.Reset();
        _client = new PairedConnection(servers.Pair);
    }

    public void Dispose() => _client.Dispose();

    private static readonly string[] Commands =
    [
        "HEXPIRE h 10 NX XX FIELDS 0 a",
        "HEXPIRE h 10 NX XX FIELDS 1 a FIELDS 1 b",
        "HEXPIRE h 10 FIELDS 1 a GT XX FOO",
        "HEXPIRE h 10 GT XX NX NX",
        "HEXPIRE nokey 10 GT XX FIELDS 1 a",
        "HEXPIRE h 10 GT GT FIELDS 1 a LT",
        "HGETEX h FNX EX abc FIELDS 1 a",
        "HGETEX h FNX FXX FIELDS 1 a",
        "HGETEX h FNX FIELDS 0 a",
        "HGETEX h KEEPTTL EX 10 FIELDS 1 a",
        "HGETEX h KEEPTTL KEEPTTL FIELDS 1 a",
        "HGETEX h KEEPTTL PERSIST FIELDS 1 a",
        "HSETEX h PERSIST EX 10 FIELDS 1 a b",
        "HSETEX h PERSIST PERSIST FIELDS 1 a b",
        "HSETEX h PERSIST KEEPTTL FIELDS 1 a b",
        "HSETEX h KEEPTTL PERSIST FIELDS 1 a b",
        "HSETEX h FNX KEEPTTL PERSIST EX",
        "HSETEX str PERSIST FIELDS 1 a b",
        "HSETEX str FIELDS 1 a b",
        "HSETEX str",
        "HSETEX str EX",
        "HSETEX str EX abc FIELDS 1 a b",
        "HSETEX str FOO FIELDS 1 a b",
        "HSETEX str FIELDS 0 a b",
        "HSETEX str FIELDS x a b",
        "HSETEX h FIELDS 2 a b",
        "HSETEX h FIELDS 1 a b c",
        "HSETEX h FIELDS 0 a b",
        "HSETEX h FIELDS -1 a b",
        "HSETEX h FIELDS abc a b",
        "HSETEX h FIELDS 99999999999 a b",
        "HSETEX h FIELDS 4611686018427387905 a b",
        "HSETEX h FIELDS 9223372036854775807 a b",
        "HSETEX h EX 0 FIELDS 1 a b",
        "HSETEX h EX -1 FIELDS 1 a b",
        "HSETEX h EX 99999999999999 FIELDS 1 a b",
        "HSETEX h EX 9223372036854775807 FIELDS 1 a b",
        "HSETEX h PX 9223372036854775807 FIELDS 1 a b",
        "HSETEX h PXAT 281474976710655 FIELDS 1 a b",
        "HSETEX h PXAT 281474976710656 FIELDS 1 a b",
        "HSETEX h EXAT 0 FIELDS 1 a b",
        "HSETEX h PXAT -5 FIELDS 1 a b",
        "HSETEX h EX abc FIELDS 0 a b",
        "HSETEX h EX abc FIELDS 2 a b",
        "HSETEX h EX abc FOO",
        "HSETEX h EX 10 PX 10 FIELDS 1 a b",
        "HSETEX h EX 10 KEEPTTL FIELDS 1 a b",
        "HSETEX h KEEPTTL EX 10 FIELDS 1 a b",
        "HSETEX h FNX FXX FIELDS 1 a b",
        "HSETEX h FXX FNX FIELDS 1 a b",
        "HSETEX h FNX FNX FIELDS 1 a b",
        "HSETEX h FNX EX FIELDS 1 a",
        "HSETEX h a b c d",
        "HSETEX h EX 10 a b",
        "HSETEX h FIELDS",
        "HSETEX h FIELDS 1",
        "HSETEX h FIELDS 1 a",
        "HSETEX h FNX FIELDS 1 a",
        "HSETEX h FNX FIELDS nosuch a",
        "HSETEX h FNX FIELDS nosuch a b",
        "HSETEX h FNX FIELDS nosuch",
        "HSETEX h FIELDS nosuch a FNX",
        "HSETEX h FNX KEEPTTL FIELDS 1",
        "HSETEX h EX 10 FIELDS",
        "HSETEX h EX 10 FIELDS 1",
        "HSETEX h FIELDS 1 a b EX 10",
        "HSETEX h FIELDS 1 a b FIELDS 1 c d",
        "HSETEX h FNX EX 10",
        "HSETEX h FNX EX 10 KEEPTTL",
        "HSETEX h KEEPTTL KEEPTTL FIELDS 1 a b",
        "HSETEX h EX 10 EX 10 FIELDS 1 a b",
        "HSETEX h PERSIST FIELDS 1 a b",
        "HSETEX nokey FXX FIELDS 1 a b",
        "HSETEX nokey FXX EX 0 FIELDS 1 a b",
        "HGETEX str FIELDS 1 a",
        "HGETEX str FIELDS 0 a",
        "HGETEX str EX abc FIELDS 1 a",
        "HGETEX str FOO FIELDS 1 a",
        "HGETEX nokey FIELDS 0 a",
        "HGETEX nokey FIELDS 2 a",
        "HGETEX nokey FOO 1 a",
        "HGETEX h FIELDS 0 a",
        "HGETEX h FIELDS x a",
        "HGETEX h FIELDS 2 a",
        "HGETEX h FIELDS 1 a b",
        "HGETEX h EX abc FIELDS 1 a",
        "HGETEX h EX 0 FIELDS 1 a",
        "HGETEX h EX abc FIELDS 0 a",
        "HGETEX h EX 10 PX 10 FIELDS 1 a",
        "HGETEX h EX 10 FIELDS 0 a",
        "HGETEX h EX 10",
        "HGETEX h EX 10 FIELDS 1",
        "HGETEX h EX FIELDS 1 a",
        "HGETEX h PERSIST EX 10 FIELDS 1 a",
        "HGETEX h PERSIST FIELDS 1 a",
        "HGETEX h KEEPTTL FIELDS 1 a",
        "HGETEX h FOO FIELDS 1 a",
        "HGETEX h FIELDS 1 a EX 10",
        "HGETEX h FIELDS 1 a PERSIST",
        "HGETEX h PX 9223372036854775807 FIELDS 1 a",
        "HGETEX h EX -1 FIELDS 1 a",
        "HGETEX h FIELDS 4294967297 a",
        "HGETDEL str FIELDS 1 a",
        "HGETDEL str FIELDS 0 a",
        "HGETDEL str FOO 1 a",
        "HGETDEL nokey FOO 1 a",
        "HGETDEL nokey FIELDS 0 a",
        "HGETDEL nokey FIELDS 2 a",
        "HGETDEL h FIELDS 0 a",
        "HGETDEL h FIELDS x a",
        "HGETDEL h FIELDS 2 a",
        "HGETDEL h FIELDS 1 a b",
        "HGETDEL h FIELDS -1 a",
        "HGETDEL h FOO 1 a",
        "HGETDEL h 1 FIELDS a",
        "HGETDEL h FIELDS 4294967297 a",
        "HGETDEL h FIELDS 1",
        "HEXPIRE str 10 FIELDS 1 a",
        "HEXPIRE str abc FIELDS 1 a",
        "HEXPIRE nokey abc FIELDS 1 a",
        "HEXPIRE nokey 10 FIELDS 0 a",
        "HEXPIRE h 10 FIELDS 0 a",
        "HEXPIRE h 10 FIELDS 2 a",
        "HEXPIRE h 10 FOO 1 a",
        "HEXPIRE h 10 NX XX FIELDS 1 a",
        "HEXPIRE h 10 FOO FIELDS 1 a",
        "HEXPIRE h 10 NX FOO FIELDS 1 a",
        "HEXPIRE h 10 FIELDS 1 a NX",
        "HEXPIRE h -1 FIELDS 1 a",
        "HEXPIRE h 9223372036854775807 FIELDS 1 a",
        "HPEXPIREAT h 281474976710656 FIELDS 1 a",
        "HEXPIRE h 10 NX FIELDS 1",
        "HTTL h FIELDS 0 a",
        "HTTL h FIELDS 2 a",
        "HTTL nokey FIELDS 2 a",
        "HTTL nokey FIELDS 1 a",
        "HTTL h FOO 1 a",
        "HTTL str FOO 1 a",
        "HPERSIST nokey FIELDS 0 a",
        "HPERSIST h FOO 1 a",
        "HPERSIST str FIELDS 0 a",
    ];

    [Fact]
    public void Arguments_are_checked_in_the_same_order()
    {
        _client.Run("SET str x").IsOk();
        foreach (string command in Commands)
        {
            _client.Run("HSET h a 1 b 2");
            _client.Run(command);
        }
    }

    [Fact]
    public void Fields_without_a_number_are_too_few_arguments()
    {
        _client.Run("HSET h a 1");
        _client.Run("HGETEX h EX 10 FIELDS");
        _client.Run("HGETEX nokey EX 10 FIELDS");
    }
}
