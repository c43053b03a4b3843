using System.Globalization;
using RedKite.Types.Tests;

namespace RedKite.Json.Tests;

/// <summary>What paths select, as RFC 9535 and RedisJSON's documentation say. The cases are this project's own.</summary>
public sealed class JsonPathTests
{
    private const string Store = """{"book":[{"t":"A","p":8.95,"n":1},{"t":"B","p":12.99},{"t":"C","p":8.99,"i":"0-5"},{"t":"D","p":22.99,"i":"0-3"}],"car":{"c":"red","p":20}}""";

    // A path and what it selects, in the order in which it does.
    private static readonly (string Document, string Path, string Expected)[] Cases =
    [
        // Names.
        ("""{"a":1}""", "$", """[{"a":1}]"""), ("""{"a":1}""", "$.a", "[1]"), ("""{"a":1}""", "$['a']", "[1]"), ("""{"a":1}""", """$["a"]""", "[1]"), ("""{"a":1}""", "$.b", "[]"),
        ("""{"":1}""", "$['']", "[1]"), ("""{"a b":1}""", "$['a b']", "[1]"), ("""{"a.b":1}""", "$['a.b']", "[1]"), ("""{"é":1,"☺":2}""", "$.☺", "[2]"), ("""{"it's":1}""", @"$['it\'s']", "[1]"),
        ("""{"\"":1}""", """$["\""]""", "[1]"), ("""{"\\":1}""", @"$['\\']", "[1]"), ("""{"☺":1}""", @"$['\u263A']", "[1]"), ("""{"😀":1}""", @"$['\uD83D\uDE00']", "[1]"), ("""{"a":{"b":{"c":7}}}""", "$.a.b.c", "[7]"),
        ("""{"a":{"b":{"c":7}}}""", "$['a'].b['c']", "[7]"), ("""{"a":{"b":1}}""", "$ .a [ 'b' ]", "[1]"), ("[1]", "$.a", "[]"), ("\"a\"", "$.a", "[]"), ("""{"a-b":1,"c:d":2,"_e":3,"f1":4}""", "$.a-b", "[1]"),
        ("""{"a-b":1,"c:d":2}""", "$.c:d", "[2]"), ("""{"a":1,"$b":2}""", "$.$b", "[2]"), ("""{"null":1,"true":2}""", "$.null", "[1]"), ("""{"1":1}""", "$.1", "[1]"), ("""{"1":1}""", "$['1']", "[1]"), ("""{"1":1}""", "$[1]", "[]"),

        // Wildcards.
        ("""{"a":1,"b":[2]}""", "$.*", "[1,[2]]"), ("[1,[2]]", "$[*]", "[1,[2]]"), ("[1,[2]]", "$.*", "[1,[2]]"), ("7", "$.*", "[]"), ("{}", "$[*]", "[]"), ("""[{"a":1},{"a":2}]""", "$[*].a", "[1,2]"),
        ("""[{"a":1},{"a":2}]""", "$[*,*]", """[{"a":1},{"a":2},{"a":1},{"a":2}]"""),

        // Indexes.
        ("[5,6,7]", "$[0]", "[5]"), ("[5,6,7]", "$[2]", "[7]"), ("[5,6,7]", "$[3]", "[]"), ("[5,6,7]", "$[-1]", "[7]"), ("[5,6,7]", "$[-3]", "[5]"), ("[5,6,7]", "$[-4]", "[]"), ("""{"0":1}""", "$[0]", "[]"), ("[[1,2],[3]]", "$[0][1]", "[2]"),
        ("[[1,2],[3]]", "$.[0].[1]", "[2]"),

        // Slices.
        ("[0,1,2,3,4]", "$[1:3]", "[1,2]"), ("[0,1,2,3,4]", "$[3:]", "[3,4]"), ("[0,1,2,3,4]", "$[:2]", "[0,1]"), ("[0,1,2,3,4]", "$[:]", "[0,1,2,3,4]"), ("[0,1,2,3,4]", "$[::2]", "[0,2,4]"), ("[0,1,2,3,4]", "$[1:5:2]", "[1,3]"),
        ("[0,1,2,3,4]", "$[::-1]", "[4,3,2,1,0]"), ("[0,1,2,3,4]", "$[3:0:-2]", "[3,1]"), ("[0,1,2,3,4]", "$[-2:]", "[3,4]"), ("[0,1,2,3,4]", "$[:-2]", "[0,1,2]"), ("[0,1,2,3,4]", "$[0:9]", "[0,1,2,3,4]"), ("[0,1,2,3,4]", "$[9:]", "[]"),
        ("[0,1,2,3,4]", "$[::0]", "[]"), ("[0,1,2,3,4]", "$[2:1]", "[]"), ("[0,1,2,3,4]", "$[-9:2]", "[0,1]"), ("[0,1,2,3,4]", "$[-1:-4:-1]", "[4,3,2]"), ("[0,1,2,3,4]", "$[ 1 : 3 : 1 ]", "[1,2]"), ("""{"a":1}""", "$[:]", "[]"),
        ("[0,1,2,3,4]", "$[0:5:9223372036854775807]", "[0]"), ("[0,1,2,3,4]", "$[-9223372036854775807:9223372036854775807]", "[0,1,2,3,4]"), ("[0,1,2,3,4]", "$[4::-9223372036854775807]", "[4]"),

        // Unions.
        ("[5,6,7]", "$[0,2]", "[5,7]"), ("[5,6,7]", "$[2,0,2]", "[7,5,7]"), ("""{"a":1,"b":2,"c":3}""", "$['c','a']", "[3,1]"), ("[5,6,7]", "$[0,1:]", "[5,6,7]"), ("""{"a":1,"b":2}""", "$['a','x']", "[1]"), ("""{"a":1,"b":2}""", "$[a,b]", "[1,2]"),

        // All below: the value itself comes first.
        ("""{"x":{"a":2,"b":{"a":3}},"a":1}""", "$..a", "[1,2,3]"), ("""{"a":[{"b":1},{"b":2}]}""", "$..b", "[1,2]"), ("[[1,2],[[3]]]", "$..[0]", "[[1,2],1,[3],3]"), ("""{"a":{"b":1}}""", "$..*", """[{"b":1},1]"""), ("[1,[2,[3]]]", "$..*", "[1,[2,[3]],2,[3],3]"),
        ("""{"a":{"a":{"a":1}}}""", "$..a", """[{"a":{"a":1}},{"a":1},1]"""), ("""{"a":{"b":{"c":1}},"d":{"b":{"c":2}}}""", "$..b.c", "[1,2]"), ("""{"a":[1,2,3],"b":[4]}""", "$..['a','b'][0]", "[1,4]"), (Store, "$..p", "[8.95,12.99,8.99,22.99,20]"),

        // Filters.
        (Store, "$.book[?(@.p<10)].t", """["A","C"]"""), (Store, "$.book[?@.p<10].t", """["A","C"]"""), (Store, "$.book[?(@.i)].t", """["C","D"]"""), (Store, "$.book[?(!@.i)].t", """["A","B"]"""), (Store, "$.book[?(@.p>10 && @.i)].t", """["D"]"""),
        (Store, "$.book[?(@.p>20 || @.n==1)].t", """["A","D"]"""), (Store, "$.book[?(@.t=='B')].p", "[12.99]"), (Store, """$.book[?(@.t=="B")].p""", "[12.99]"), (Store, "$.book[?('B'==@.t)].p", "[12.99]"), (Store, "$.book[?(@.t!='B')].t", """["A","C","D"]"""),
        (Store, "$.book[?(@.p>=12.99 && @.p<=22.99)].t", """["B","D"]"""), (Store, "$.book[?((@.n==1 || @.i=='0-3') && @.p>0)].t", """["A","D"]"""), (Store, "$.book[?(@.p<$.car.p)].t", """["A","B","C"]"""), (Store, "$..[?(@.p>21)].t", """["D"]"""),
        (Store, "$.book[?(@.t=~'[AB]')].t", """["A","B"]"""), (Store, "$.book[?(@.i=~'(?i)^0-[0-4]$')].t", """["D"]"""), (Store, "$.book[?(@.t =~ '(')].t", "[]"), (Store, "$.*[?(@=='red')]", """["red"]"""),
        ("""[1,"1",true,null,[1],{"a":1}]""", "$[?(@==1)]", "[1]"), ("""[1,"1",true,null,[1],{"a":1}]""", "$[?(@!=1)]", """["1",true,null,[1],{"a":1}]"""), ("""[1,"1",true,null]""", "$[?(@==true)]", "[true]"), ("""[1,"1",true,null]""", "$[?(@==null)]", "[null]"),
        ("[1,2.0,3]", "$[?(@==2)]", "[2.0]"), ("[1,2.0,3]", "$[?(@==1.0)]", "[1]"), ("""["a","b","c"]""", "$[?(@>'a')]", """["b","c"]"""), ("""[1,"b"]""", "$[?(@>'a')]", """["b"]"""), ("[true,false]", "$[?(@<=true)]", "[true]"), ("[true,false]", "$[?(@<true)]", "[]"),
        ("[9007199254740993,9007199254740992]", "$[?(@==9007199254740993)]", "[9007199254740993]"), ("[18446744073709551615,-1]", "$[?(@>0)]", "[18446744073709551615]"), ("""[{"a":[1,2]},{"a":[2,1]}]""", "$[?(@.a==$[0].a)]", """[{"a":[1,2]}]"""),
        ("""[{"a":{"x":1,"y":2}},{"a":{"y":2,"x":1}}]""", "$[?(@.a==$[0].a)]", """[{"a":{"x":1,"y":2}},{"a":{"y":2,"x":1}}]"""), ("""{"a":{"k":1},"b":{"k":2}}""", "$[?(@.k==2)]", """[{"k":2}]"""), ("""[[1,5],[2,3]]""", "$[?(@[1]>4)]", "[[1,5]]"),
        ("""[{"c":[1,9]},{"c":[2]}]""", "$[?(@.c[*]>8)]", """[{"c":[1,9]}]"""), ("""[{"a":null},{}]""", "$[?(@.a)]", """[{"a":null}]"""), ("""[{"a":1},{}]""", "$[?(@.a!=1)]", "[]"), ("""[{"a":[]},{"a":[1]}]""", "$[?(@.a[*])]", """[{"a":[1]}]"""),
        ("""[{"a":[{"b":1}]},{"a":[{"b":2}]}]""", "$[?(@.a[?(@.b==2)])]", """[{"a":[{"b":2}]}]"""), ("[[[1]],[[2]]]", "$[?(@[?(@[?(@==2)])])]", "[[[2]]]"), ("[1,2,3]", "$[?(@>1),0]", "[2,3,1]"),

        // Functions.
        ("""["ab","abc",[1,2],{"a":1,"b":2},7]""", "$[?(length(@)==2)]", """["ab",[1,2],{"a":1,"b":2}]"""), ("""["é☺"]""", "$[?(length(@)==2)]", """["é☺"]"""), ("""[[1,2],[1]]""", "$[?(count(@.*)>1)]", "[[1,2]]"), ("""[{"a":1},{"a":2}]""", "$[?(value(@.a)==2)]", """[{"a":2}]"""),
        ("""["ab","xaby"]""", "$[?match(@,'a.')]", """["ab"]"""), ("""["ab","xaby"]""", "$[?search(@,'a.')]", """["ab","xaby"]"""), ("""["ab",1]""", "$[?!match(@,'a.')]", "[1]"),
    ];

    private static readonly string[] Invalid =
    [
        "$.", "$..", "$[", "$[]", "$[0", "$['a", "$['a]", "$[0]]", "$[,]", "$[0,]", "$[?]", "$[?(]", "$[?(@.a==)]", "$[?(@.a=1)]", "$[?(@.a ==1]", "$[?(1)]", "$[?(@.a && )]", "$[?length(@)]", "$[?foo(@)]", "$[?count(1)==1]", "$a b", "$.a b", "$[1:2:3:4]",
        "$[9223372036854775808]", @"$['\uD83D']", @"$['\u12']", "$[?(((((((((((@.a)))))))))))]", "$[?!!!!!!!!!!!!@.a]", "$.a[?(@.b=='x]", "$.a.[", "$...a",
    ];

    [Fact]
    public async Task Paths_select_what_the_standard_says()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        foreach ((string document, string path, string expected) in Cases)
        {
            server.Json("JSON.SET", "doc", "$", document);
            Assert.Equal($"{path} of {document}: {expected}", $"{path} of {document}: {server.Json("JSON.GET", "doc", path)}");
        }
    }

    // The same in a document whose containers have chunks of their own.
    [Fact]
    public async Task Paths_select_the_same_in_large_documents()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        string filler = string.Join(',', Enumerable.Range(0, 400).Select(i => string.Create(CultureInfo.InvariantCulture, $"\"filler {i}\"")));
        foreach ((string document, string path, string expected) in Cases)
        {
            server.Json("JSON.SET", "doc", "$", $"[[{filler}],{document},[{filler}]]");
            if (!path.Contains("..", StringComparison.Ordinal) && !path.Contains("$.car", StringComparison.Ordinal) && !path.Contains("$[0].a", StringComparison.Ordinal)) Assert.Equal($"{path}: {expected}", $"{path}: {server.Json("JSON.GET", "doc", "$[1]" + path[1..])}");
        }
    }

    [Fact]
    public async Task Paths_that_are_none_are_refused()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Json("JSON.SET", "doc", "$", "{}");
        foreach (string path in Invalid) Assert.StartsWith($"{path}: ERR Error occurred on position ", $"{path}: {server.Json("JSON.GET", "doc", path)}", StringComparison.Ordinal);
        Assert.StartsWith("ERR the path is longer", server.Json("JSON.GET", "doc", "$" + new string('a', 20_000)), StringComparison.Ordinal);
    }

    [Fact]
    public async Task Paths_of_the_first_version_stand_for_one_value()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Json("JSON.SET", "doc", ".", """{"a":{"b":[1,2]},"x y":3,"n":{"b":4}}""");
        Assert.Equal("1", server.Json("JSON.GET", "doc", "a.b[0]"));
        Assert.Equal("2", server.Json("JSON.GET", "doc", ".a.b[-1]"));
        Assert.Equal("3", server.Json("JSON.GET", "doc", "['x y']"));
        Assert.Equal("3", server.Json("JSON.GET", "doc", """.["x y"]"""));
        Assert.Equal("[1,2]", server.Json("JSON.GET", "doc", "..b"));
        Assert.Equal("[1,2]", server.Json("JSON.GET", "doc", "*.b"));
        Assert.Equal("""{"b":[1,2]}""", server.Json("JSON.GET", "doc", "a"));
        Assert.Equal("OK", server.Json("JSON.SET", "doc", "a.c", "5"));
        Assert.Equal("5", server.Json("JSON.GET", "doc", ".a.c"));
    }

    [Fact]
    public async Task Work_of_a_path_is_bounded()
    {
        await using TypeServer server = await TypeServer.StartAsync();
        server.Json("JSON.SET", "wide", "$", "[" + string.Join(',', Enumerable.Range(0, 3000)) + "]");
        Assert.Equal("ERR the path takes too many steps in this document", server.Json("JSON.GET", "wide", "$[?count($[?count($[?count($[*])>0])>0])<0]"));
        Assert.Equal("PONG", server.Run("PING"));
        Assert.Equal("[]", server.Json("JSON.GET", "wide", "$[?(@=~'a{900}{900}')]"));
        string deep = new string('[', 128) + new string(']', 128);
        Assert.Equal("OK", server.Json("JSON.SET", "deep", "$", deep));
        Assert.Equal("recursion limit exceeded at line 1 column 129", server.Json("JSON.SET", "deep", "$", "[" + deep + "]"));
        Assert.StartsWith("recursion limit exceeded", server.Json("JSON.SET", "deep", "$[0]", deep), StringComparison.Ordinal);
        Assert.Equal(deep, server.Document("deep"));
        Assert.Equal(127, server.Client.Run("JSON.TYPE deep $..*").Items.Count);
    }
}
