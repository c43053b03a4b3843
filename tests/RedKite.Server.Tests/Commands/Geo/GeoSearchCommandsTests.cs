using RedKite.TestSupport;

namespace RedKite.Server.Tests.Commands;

public sealed class GeoSearchCommandsTests : IAsyncLifetime
{
    private readonly CommandTranscript _transcript = new();

    public async ValueTask InitializeAsync()
    {
        await _transcript.InitializeAsync();
        Run("GEOADD sicily 13.361389 38.115556 palermo 15.087269 37.502669 catania 12.758489 38.788135 edge1 17.241510 38.788135 edge2").IsInteger(4);
    }

    public ValueTask DisposeAsync() => _transcript.DisposeAsync();

    [Fact]
    public void Circles_and_boxes_find_their_members()
    {
        Run("GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 200 km ASC").IsArray("catania", "palermo");
        Run("GEOSEARCH sicily FROMLONLAT 15 37 BYBOX 400 400 km ASC").IsArray("catania", "palermo", "edge2", "edge1");
        Run("GEOSEARCH sicily FROMMEMBER catania BYRADIUS 200 km DESC COUNT 1").IsArray("palermo");
        Assert.Single(Run("GEOSEARCH sicily FROMLONLAT 15 37 BYRADIUS 30000 km COUNT 1 ANY WITHHASH").Items);
        Run("GEOSEARCH missing FROMMEMBER nosuch BYRADIUS 1 m").IsArray();
        Run("GEORADIUS sicily 15 37 200 km DESC").IsArray("palermo", "catania");
        Run("GEORADIUSBYMEMBER_RO sicily palermo 1 m").IsArray("palermo");
    }

    [Theory]
    [InlineData("ASC")]
    [InlineData("DESC")]
    public void Count_limits_to_the_first_results_in_order(string order)
    {
        // Few distinct positions, so that many members have the same distance.
        var random = new Random(7);
        for (int i = 0; i < 400; i++) Run($"GEOADD many {random.Next(10) / 10.0:0.0} {random.Next(10) / 10.0:0.0} m{i}").IsInteger(1);
        string[] all = [.. Run($"GEOSEARCH many FROMLONLAT 0.3 0.4 BYRADIUS 80 km {order}").Items.Select(item => item.Text)];
        Assert.InRange(all.Length, 200, 399);
        foreach (int count in (int[])[1, 2, 3, 7, 64, 65, 150, all.Length - 1, all.Length, all.Length + 1])
        {
            Run($"GEOSEARCH many FROMLONLAT 0.3 0.4 BYRADIUS 80 km COUNT {count} {order}").IsArray(all[..Math.Min(count, all.Length)]);
        }
    }

    [Fact]
    public void Distances_hashes_and_coordinates_accompany_members()
    {
        RespValue reply = Run("GEORADIUS_RO sicily 15 37 100 km WITHCOORD WITHDIST WITHHASH");
        reply.Is(RespValue.Aggregate('*',
        [
            RespValue.Aggregate('*',
            [
                Bulk("catania"), Bulk("56.4413"), RespValue.Scalar(':', "3479447370796909"u8.ToArray()),
                RespValue.Aggregate('*', [Bulk("15.087267458438873"), Bulk("37.50266842333162")]),
            ]),
        ]));
    }

    [Fact]
    public void Results_can_be_stored()
    {
        Run("GEOSEARCHSTORE to sicily FROMLONLAT 15 37 BYRADIUS 200 km").IsInteger(2);
        Run("ZRANGE to 0 -1 WITHSCORES").IsArray("palermo", "3479099956230698", "catania", "3479447370796909");
        Run("GEOSEARCHSTORE to sicily FROMLONLAT 15 37 BYRADIUS 200 km COUNT 1 STOREDIST").IsInteger(1);
        Run("ZRANGE to 0 -1").IsArray("catania");
        Run("GEORADIUS sicily 15 37 200 km STOREDIST sicily").IsInteger(2);
        Run("ZCARD sicily").IsInteger(2);
        Run("GEORADIUSBYMEMBER missing a 1 km STORE to").IsInteger(0);
        Run("EXISTS to").IsInteger(0);
    }

    [Fact]
    public void Of_several_destinations_the_last_one_counts()
    {
        Run("GEORADIUS sicily 15 37 200 km STORE one STORE two").IsInteger(2);
        Run("GEORADIUS sicily 15 37 200 km STORE STOREDIST STOREDIST three").IsInteger(2);
        Run("EXISTS one STOREDIST").IsInteger(0);
        Run("ZSCORE two catania").IsBulk("3479447370796909");
        Run("ZSCORE three catania").IsBulk("56.4412578701582");
        Run("COMMAND GETKEYS GEORADIUS sicily 15 37 200 km STORE one STOREDIST two").IsArray("sicily", "two");
        Run("ACL SETUSER geo on nopass ~sicily ~one +@all");
        Run("ACL DRYRUN geo GEORADIUS sicily 15 37 200 km STORE one STORE two").IsBulk("User geo has no permissions to access the 'two' key");
        Run("ACL DRYRUN geo GEORADIUS sicily 15 37 200 km STORE two STORE one").IsOk();
        Run("COMMAND GETKEYS GEORADIUS sicily 15 37 200 km STORE one").IsArray("sicily", "one");
    }

    [Fact]
    public void Invalid_arguments_have_redis_error_texts()
    {
        Run("GEOSEARCH sicily BYRADIUS 1 km ASC COUNT 1").IsError("ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for GEOSEARCH");
        Run("geosearch sicily FROMMEMBER palermo ASC COUNT 1").IsError("ERR exactly one of BYRADIUS and BYBOX can be specified for geosearch");
        Run("GEOSEARCH sicily FROMMEMBER palermo BYRADIUS 1 km ANY").IsError("ERR the ANY argument requires COUNT argument");
        Run("GEOSEARCH sicily FROMMEMBER palermo BYRADIUS 1 km COUNT 0").IsError("ERR COUNT must be > 0");
        Run("GEOSEARCH sicily FROMMEMBER nosuch BYRADIUS 1 km").IsError("ERR could not decode requested zset member");
        Run("GEOSEARCH sicily FROMMEMBER palermo BYRADIUS -1 km").IsError("ERR radius cannot be negative");
        Run("GEOSEARCH sicily FROMMEMBER palermo BYRADIUS x km").IsError("ERR need numeric radius");
        Run("GEOSEARCH sicily FROMMEMBER palermo BYBOX 1 -1 km").IsError("ERR height or width cannot be negative");
        Run("GEORADIUS sicily 15 37 1 km STORE to WITHDIST").IsError("ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options");
        Run("GEORADIUS_RO sicily 15 37 1 km STORE to").IsError("ERR syntax error");
    }

    private static RespValue Bulk(string text) => RespValue.Scalar('$', System.Text.Encoding.Latin1.GetBytes(text));

    private RespValue Run(string line) => _transcript.Run(line);
}
