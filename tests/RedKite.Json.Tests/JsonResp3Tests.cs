using System.Text;
using RedKite.TestSupport;
using RedKite.Types.Tests;

namespace RedKite.Json.Tests;

/// <summary>The replies that differ between the protocols, byte for byte.</summary>
public sealed class JsonResp3Tests
{
    private static readonly (string Command, string Resp2, string Resp3)[] Cases =
    [
        ("JSON.GET doc", "$40 {\"a\":1,\"b\":[1.5,true],\"n\":null,\"s\":\"xy\"}", "$42 [{\"a\":1,\"b\":[1.5,true],\"n\":null,\"s\":\"xy\"}]"),
        ("JSON.GET doc $.a", "$3 [1]", "$3 [1]"), ("JSON.GET doc .a", "$1 1", "$1 1"), ("JSON.GET none", "$-1", "_"),
        ("JSON.TYPE doc", "$6 object", "*1 *1 $6 object"), ("JSON.TYPE doc .a", "$7 integer", "*1 $7 integer"), ("JSON.TYPE doc $.a", "*1 $7 integer", "*1 *1 $7 integer"), ("JSON.TYPE none $", "$-1", "*1 _"),
        ("JSON.NUMINCRBY doc $..a 0", "$3 [1]", "*1 :1"), ("JSON.NUMINCRBY doc .a 0", "$1 1", "*1 :1"), ("JSON.NUMINCRBY doc $.s 1", "$6 [null]", "*1 _"), ("JSON.NUMMULTBY doc $.b[0] 1", "$5 [1.5]", "*1 ,1.5"),
        ("JSON.STRLEN doc $.*", "*4 $-1 $-1 $-1 :2", "*4 _ _ _ :2"), ("JSON.STRLEN doc .s", ":2", ":2"), ("JSON.STRLEN none .s", "$-1", "_"),
        ("JSON.OBJKEYS doc $", "*1 *4 $1 a $1 b $1 n $1 s", "*1 *4 $1 a $1 b $1 n $1 s"), ("JSON.OBJKEYS doc", "*4 $1 a $1 b $1 n $1 s", "*1 *4 $1 a $1 b $1 n $1 s"),
        ("JSON.OBJLEN doc", ":4", "*1 :4"), ("JSON.ARRLEN doc .b", ":2", ":2"), ("JSON.ARRINDEX doc $.b true", "*1 :1", "*1 :1"), ("JSON.ARRPOP none", "-ERR could not perform this operation on a key that doesn't exist", "-ERR could not perform this operation on a key that doesn't exist"),
        ("JSON.RESP doc $.b", "*1 *3 +[ $3 1.5 +true", "*1 *3 +[ ,1.5 +true"), ("JSON.RESP doc .n", "$-1", "_"), ("JSON.TOGGLE doc $.b[1]", "*1 :0", "*1 :1"), ("JSON.MGET doc none $.a", "*2 $3 [1] $-1", "*2 $3 [1] _"),
        ("JSON.SET doc $.b.c 1", "$-1", "_"), ("JSON.DEBUG MEMORY doc $.a", "*1 :1", "*1 :1"),
    ];

    [Fact]
    public async Task Replies_are_those_of_each_protocol()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        using RespConnection client = RespConnection.Connect(server.Server.Port);
        client.Json("JSON.SET", "doc", "$", """{"a":1,"b":[1.5,true],"n":null,"s":"xy"}""");
        foreach ((string command, string resp2, string resp3) in Cases)
        {
            Assert.Equal($"{command}: {resp2}", $"{command}: {Raw(client, 2, command)}");
            Assert.Equal($"{command}: {resp3}", $"{command}: {Raw(client, 3, command)}");
        }
    }

    private static string Raw(RespConnection client, int protocol, string command)
    {
        client.Run($"HELLO {protocol}");
        client.Run(command);
        return Encoding.UTF8.GetString(client.LastBytes).Replace("\r\n", " ", StringComparison.Ordinal).TrimEnd();
    }
}
